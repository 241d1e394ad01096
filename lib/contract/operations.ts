import type { z } from 'zod'
import {
  type ErrorCode,
  type Issue,
  invalidEmailMessage,
  invalidTokenMessage,
} from './errors'
import { maxSecondFactorFailures, passwordLimits, refreshGraceSeconds } from './lifetimes'
import * as routes from './routes'
import * as schemas from './schemas'

/** One operation of the API, for its route and the OpenAPI document. */
export type Operation = {
  /** Identifies the operation in the log. */
  name: string
  method: 'GET' | 'POST'
  path: string
  tag: 'Operations' | 'Sessions' | 'Second factor' | 'Widgets' | 'Keys' | 'Health'
  summary: string
  description: string
  request?: z.ZodType
  requestExample?: object
  response: z.ZodType
  responseDescription: string
  responseExample: object
  /** Without this setting, or if it is `false`, the path responds with 404. */
  setting?: 'PASSWORD_SIGN_IN' | 'SECOND_FACTOR' | 'SMTP_URL' | 'WIDGET_SIGNING_KEYS'
  /**
   * Whether the operation sets or deletes cookies. `deletes` applies to 5xx errors too.
   */
  cookies?: 'sets' | 'sets for browsers' | 'deletes'
  /**
   * Whether the client presents a session JWT: as a Bearer token, or in the session
   * cookie.
   */
  session?: 'required' | 'optional'
  noDatabase?: true
  /**
   * How long any cache may store the response, in seconds. If set, pages of any origin
   * may read the response.
   */
  publicSeconds?: number
  mediaType?: string
  /**
   * Whether all sites may call the operation (CORS). If so, it reads no cookies, and has
   * its own rate limit.
   */
  crossOrigin?: boolean
  /** The errors specific to the operation. `errorsOf` adds the common ones. */
  errors?: readonly ErrorCode[]
  /** The cases in which a body that matches the schema gets a 400. */
  badRequest?: string
  /** Examples of issues in its VALIDATION_ERROR, except for a body that is not JSON. */
  issueExamples?: Record<string, Issue>
}

const token = 'eyJhbGci.eyJzdWIi.MEUCIQDX'
const refreshToken = 'Qm9a1dE3xK5yT7uP9wS0rF2gH4jL6zC8vB_nM-qWeRtYu1Io'
const password = 'lantern meadow otter'
const code = '287082'
const sessionId = '0c9d4e0e-52a7-4f1e-8f2c-1d3b5a7e9f60'
const exampleInstant = '2026-11-22T08:10:00.000Z'
const exampleKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
  alg: 'ES256',
  use: 'sig',
}
const emailIssue = {
  path: ['email'],
  code: 'invalid_email',
  message: invalidEmailMessage,
}
const tokenIssue = {
  path: ['token'],
  code: 'invalid_or_expired',
  message: invalidTokenMessage,
}
const passwordIssue = {
  path: ['password'],
  code: 'too_short',
  message: 'Use at least 8 characters.',
}

const tokens = {
  response: schemas.SessionTokensResponse,
  responseExample: { ok: true, token, refreshToken },
}
const ok = { response: schemas.OkResponse, responseExample: { ok: true } }
const ofSecondFactor = {
  session: 'required',
  setting: 'PASSWORD_SIGN_IN',
  description: 'Unless `PASSWORD_SIGN_IN` is `true`, the path responds with 404.',
  badRequest:
    'The password is wrong, the code is wrong or used, or the enrolment is invalid',
} as const
const ofEnrolment = {
  setting: 'SECOND_FACTOR',
  description: 'Unless `SECOND_FACTOR` is `true`, the path responds with 404.',
} as const
const recoveryCodes = {
  response: schemas.RecoveryCodesResponse,
  responseDescription: 'Ten recovery codes, which are shown only now.',
  responseExample: {
    ok: true,
    recoveryCodes: Array(10).fill('7K3M9Q-XAT2VD-HB5RW8-0FJCNE'),
  },
}
const ofCode = ['SECOND_FACTOR_INVALID', 'SECOND_FACTOR_LOCKED'] as const
const publicKeys = {
  response: schemas.JwksResponse,
  responseExample: { keys: [exampleKey] },
  noDatabase: true,
  publicSeconds: 5 * 60,
  mediaType: 'application/jwk-set+json',
} as const

/**
 * Every public operation. Routes, 405 responses, the log, `/openapi.json` and tests use
 * this table.
 */
export const operations = {
  exchangeSsoCode: {
    ...routes.exchangeSsoCode,
    tag: 'Operations',
    summary: 'Exchange a one-time SSO code for a session.',
    description:
      'Each code works once. A code that was issued for one browser works only in this browser. If\n' +
      'another client that may use the code presents it again, the session that the code started ends (RFC 6749\n' +
      '§4.1.2). A success ends the sessions whose cookies the request contains. A code of\n' +
      '`GET /api/auth/authorize` needs a `codeVerifier`. Then cookies are ignored, and none are set.',
    request: schemas.SsoExchangeRequest,
    requestExample: { code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    ...tokens,
    responseDescription: 'The session. Browsers also receive both tokens as cookies.',
    cookies: 'sets for browsers',
    errors: ['SSO_EXCHANGE_INVALID'],
    badRequest:
      'The code is unknown, used, expired or for another browser, its user is disabled, or `codeVerifier` is wrong',
    issueExamples: {
      code: { path: ['code'], code: 'invalid_type', message: 'This field is required.' },
    },
  },
  signIn: {
    ...routes.signIn,
    tag: 'Operations',
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Sign in with an email address and a password.',
    description:
      'Unless `PASSWORD_SIGN_IN` is `true`, the path responds with 404. A success ends the sessions whose\n' +
      `cookies the request contains. In ${passwordLimits.windowSeconds / 60} minutes,\n` +
      `${passwordLimits.perAccountAndNetwork} attempts may fail per account and network,\n` +
      `${passwordLimits.perAccount} per account, and ${passwordLimits.perNetwork} per network. A browser in\n` +
      `which the user signed in before has its own ${passwordLimits.perKnownBrowser} attempts. Further attempts\n` +
      'get a 429. The responses are the same for accounts that do not exist. A user with a second factor gets a\n' +
      'challenge instead of a session, in the body and as a cookie.',
    request: schemas.SignInRequest,
    requestExample: { email: 'ada@example.com', password },
    ...tokens,
    responseDescription:
      'The session. Browsers also get both as cookies, and one that makes them known browsers.',
    cookies: 'sets',
    errors: ['SIGN_IN_INVALID', 'SECOND_FACTOR_REQUIRED'],
    badRequest:
      'There is no such user, the user is not allowed a password, the password is wrong, or `email` is no address',
    issueExamples: { email: emailIssue },
  },
  signInSecondFactor: {
    ...routes.signInSecondFactor,
    tag: 'Operations',
    setting: 'PASSWORD_SIGN_IN',
    summary:
      'Complete a sign-in with a code of an authenticator app, or with a recovery code.',
    description:
      'Unless `PASSWORD_SIGN_IN` is `true`, the path responds with 404. A challenge works for ten minutes, and\n' +
      `starts at most one session. A code works once. In ${passwordLimits.windowSeconds / 60} minutes,\n` +
      `${passwordLimits.perSecondFactor} codes may be wrong. After ${maxSecondFactorFailures} wrong codes in a\n` +
      'row, only a recovery code works.',
    request: schemas.SignInSecondFactorRequest,
    requestExample: { challenge: 'WwT2rTweSlWaDG-eLRt8NGk2CoI'.padEnd(88, 'x'), code },
    ...tokens,
    responseDescription:
      'The session, as after a sign-in. The cookie with the challenge is deleted.',
    cookies: 'sets',
    errors: ['CHALLENGE_INVALID', ...ofCode],
    badRequest:
      'The challenge is invalid, expired or used, the account has changed, or the code is wrong or used',
  },
  getSecondFactor: {
    ...ofSecondFactor,
    ...routes.getSecondFactor,
    tag: 'Second factor',
    summary: 'Whether the user has a second factor.',
    response: schemas.SecondFactorResponse,
    responseDescription: 'The second factor, without its secret.',
    responseExample: {
      ok: true,
      available: true,
      enabledAt: exampleInstant,
      recoveryCodesLeft: 10,
    },
  },
  startSecondFactor: {
    ...ofSecondFactor,
    ...routes.startSecondFactor,
    tag: 'Second factor',
    ...ofEnrolment,
    summary: 'Get a secret for an authenticator app, which is not stored yet.',
    request: schemas.StartSecondFactorRequest,
    requestExample: { password },
    response: schemas.StartSecondFactorResponse,
    responseDescription:
      'The secret. The user must confirm it with its first code within ten minutes.',
    responseExample: {
      ok: true,
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      uri: 'otpauth://totp/Dashboard:ada%40example.com?issuer=Dashboard&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      enrolment: refreshToken,
      expiresAt: exampleInstant,
    },
    errors: ['SIGN_IN_INVALID', 'SECOND_FACTOR_CONFLICT'],
  },
  confirmSecondFactor: {
    ...ofSecondFactor,
    ...routes.confirmSecondFactor,
    tag: 'Second factor',
    ...recoveryCodes,
    ...ofEnrolment,
    summary:
      'Switch the second factor on, with the first code of the app, and end all other sessions.',
    request: schemas.ConfirmSecondFactorRequest,
    requestExample: { enrolment: refreshToken, code },
    errors: ['CHALLENGE_INVALID', 'SECOND_FACTOR_INVALID', 'SECOND_FACTOR_CONFLICT'],
  },
  replaceRecoveryCodes: {
    ...ofSecondFactor,
    ...routes.replaceRecoveryCodes,
    tag: 'Second factor',
    ...recoveryCodes,
    summary: 'Replace the recovery codes.',
    request: schemas.ReplaceRecoveryCodesRequest,
    requestExample: { password, code },
    errors: ['SIGN_IN_INVALID', ...ofCode, 'SECOND_FACTOR_CONFLICT'],
  },
  removeSecondFactor: {
    ...ofSecondFactor,
    ...routes.removeSecondFactor,
    tag: 'Second factor',
    ...ok,
    summary: 'Switch the second factor off, and end all other sessions.',
    request: schemas.RemoveSecondFactorRequest,
    requestExample: { password, code },
    responseDescription: 'The second factor is off.',
    errors: ['SIGN_IN_INVALID', ...ofCode, 'SECOND_FACTOR_CONFLICT'],
  },
  resetPassword: {
    ...routes.resetPassword,
    tag: 'Operations',
    summary: 'Set a new password with the token from a reset email.',
    description:
      'Ends every session of the user. After a rejected password, the token stays valid: then the `path` of\n' +
      'each issue is `password`, not `token`. Issues of a password:\n' +
      `${schemas.passwordIssueCodes.map((code) => `\`${code}\``).join(', ')}.`,
    request: schemas.ResetPasswordRequest,
    requestExample: { token: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv', password },
    responseDescription: 'The password is changed.',
    ...ok,
    badRequest: 'The token is unknown, used or expired, or the password is rejected',
    issueExamples: { token: tokenIssue, password: passwordIssue },
  },
  changePassword: {
    ...routes.changePassword,
    tag: 'Operations',
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Replace the password of the signed-in user.',
    description:
      'Ends every other session of the user. A wrong current password counts as an attempt to sign in. The\n' +
      'issues of a new password are those of a reset. Unless `PASSWORD_SIGN_IN` is `true`, the path responds\n' +
      'with 404.',
    request: schemas.ChangePasswordRequest,
    requestExample: { currentPassword: 'meadow otter lantern', password },
    responseDescription: 'The password is changed.',
    ...ok,
    session: 'required',
    errors: ['SIGN_IN_INVALID'],
    badRequest:
      'The current password is wrong, the user is not allowed a password, or the new password is rejected',
    issueExamples: { password: passwordIssue },
  },
  forgotPassword: {
    ...routes.forgotPassword,
    tag: 'Operations',
    setting: 'SMTP_URL',
    noDatabase: true,
    summary: 'Email a user a link to set a new password.',
    description:
      'The response is the same for every address, and is sent before the user is looked up. A user gets at\n' +
      'most 1 email in a minute and 3 in an hour, and 1 in an hour after 10 in a day. Without the settings for\n' +
      'email, the path responds with 404.',
    request: schemas.ForgotPasswordRequest,
    requestExample: { email: 'ada@example.com' },
    responseDescription:
      'If the address belongs to a user who may set a password, an email follows.',
    ...ok,
    badRequest: 'The field `email` is not one email address',
    issueExamples: { email: emailIssue },
  },
  refreshSession: {
    ...routes.refreshSession,
    tag: 'Sessions',
    summary: 'Renew a session with its refresh token.',
    description:
      `Rotates the refresh token, at most once in ${refreshGraceSeconds} seconds. During these seconds, the\n` +
      'current and the previous token both return the current token, so that parallel requests and lost\n' +
      'responses do no harm. An older token ends the session (RFC 9700 §4.14.2). The end of the session never\n' +
      'changes. If the token was sent as a cookie, the new one is returned only as a cookie. An error deletes\n' +
      'no cookies.',
    request: schemas.RefreshTokenRequest,
    requestExample: { refreshToken },
    response: schemas.RefreshResponse,
    responseDescription:
      'A new JWT, and the current refresh token if the body had one. Browsers also receive both as cookies.',
    responseExample: tokens.responseExample,
    cookies: 'sets',
    errors: ['REFRESH_INVALID'],
    badRequest:
      'The refresh token is missing, unknown or outdated, or its session has ended',
  },
  getSession: {
    ...routes.getSession,
    tag: 'Sessions',
    summary: 'Get the session of the request, and its user.',
    description:
      'Rejects a revoked session at once. With a valid JWT, the request counts against a limit of its session.',
    response: schemas.SessionResponse,
    responseDescription: 'The session is live.',
    responseExample: {
      ok: true,
      user: { id: '5b0f6a52-3c1e-4a55-9a0c-6f9e2d1b7c34', email: 'ada@example.com' },
      sessionId,
      expiresAt: '2026-11-22T20:00:00.000Z',
      sessionExpiresAt: '2026-11-29T08:00:00.000Z',
    },
    session: 'required',
  },
  listSessions: {
    ...routes.listSessions,
    tag: 'Sessions',
    summary: 'The live sessions of the user.',
    description:
      'The newest is first. The session of a browser is listed together with the sessions that dashboards got from it.',
    response: schemas.SessionsResponse,
    responseDescription: 'The live sessions.',
    responseExample: {
      ok: true,
      sessions: [
        {
          id: sessionId,
          device: 'Firefox on Windows',
          createdAt: '2026-11-22T08:00:00.000Z',
          lastUsedAt: '2026-11-22T20:00:00.000Z',
          current: true,
          signedInWith: { method: 'sso', connection: { slug: 'acme', name: 'Acme' } },
        },
      ],
    },
    session: 'required',
  },
  endSessions: {
    ...routes.endSessions,
    tag: 'Sessions',
    summary: 'End a session of the user, or all others.',
    description:
      'If a session ends, the sessions that dashboards got from it end too. `others` ends all sessions except\n' +
      'that of the request and its dashboards. It also invalidates codes that could start another session.',
    request: schemas.EndSessionsRequest,
    requestExample: { sessionId },
    responseDescription: 'The sessions have ended, or the user has no such session.',
    ...ok,
    session: 'required',
    badRequest: 'The body has neither `sessionId` nor `others`',
  },
  signOut: {
    ...routes.signOut,
    tag: 'Sessions',
    summary: 'End the sessions of the request.',
    description:
      'Ends the session of each valid credential: the refresh token in the body, the Bearer token, the cookies.\n' +
      'A JWT may have expired. Ignores invalid credentials. Always deletes the cookies. Without a token, send `{}`.',
    request: schemas.RefreshTokenRequest,
    requestExample: {},
    responseDescription: 'The sessions have ended, or there was none.',
    ...ok,
    cookies: 'deletes',
    session: 'optional',
  },
  startWidgetSession: {
    ...routes.startWidgetSession,
    tag: 'Widgets',
    setting: 'WIDGET_SIGNING_KEYS',
    summary: 'Get a JWT for the API of a widget, on a page of an approved origin.',
    description:
      'The browser sends the `Origin` of the page, which must be approved for the widget. Use\n' +
      '`credentials: "omit"`. The operation has its own rate limit, with the values of the platform limit. Without the\n' +
      'setting `WIDGET_SIGNING_KEYS`, the path responds with 404.',
    request: schemas.WidgetSessionRequest,
    requestExample: { widgetToken: 'wgt_uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    response: schemas.WidgetSessionResponse,
    responseDescription: 'The page may use the widget.',
    responseExample: { ok: true, token, expiresAt: '2026-11-22T08:15:00.000Z' },
    crossOrigin: true,
    errors: ['WIDGET_TOKEN_INVALID', 'ORIGIN_REJECTED'],
    badRequest: 'The token is unknown, revoked or expired, or the widget is disabled',
  },
  getWidgetKeys: {
    ...publicKeys,
    ...routes.getWidgetKeys,
    tag: 'Keys',
    setting: 'WIDGET_SIGNING_KEYS',
    summary: 'The public keys of the widget JWTs (RFC 7517).',
    description:
      'They never sign session JWTs. Without the setting `WIDGET_SIGNING_KEYS`, the path responds with 404.',
    responseDescription:
      'Every key that may have signed a valid widget JWT, and the next key.',
  },
  getSigningKeys: {
    ...publicKeys,
    ...routes.getSigningKeys,
    tag: 'Keys',
    summary: 'The public keys of the session JWTs (RFC 7517).',
    description:
      'Before a key signs its first JWT, it is published for longer than this response may be cached.',
    responseDescription:
      'Every key that may have signed a valid session JWT, and the next key.',
  },
  getHealth: {
    ...routes.getHealth,
    tag: 'Health',
    summary: 'Whether the process is alive.',
    description: 'Does not query the database.',
    noDatabase: true,
    responseDescription: 'Alive.',
    ...ok,
  },
  getReadiness: {
    ...routes.getReadiness,
    tag: 'Health',
    summary: 'Whether the process can serve requests.',
    description:
      'The database responds, is writable, and has every migration of this version.',
    responseDescription: 'Ready.',
    ...ok,
  },
} as const satisfies Record<string, Operation>

/**
 * Returns the value of `Allow` for an operation. A path that accepts GET accepts HEAD too
 * (RFC 9110 §9.3.2).
 */
export function allowedMethods({
  method,
  crossOrigin,
}: Pick<Operation, 'method' | 'crossOrigin'>): string {
  return method === 'GET' ? 'GET, HEAD' : crossOrigin ? `${method}, OPTIONS` : method
}

/** Returns the codes of the errors that an operation can respond with. */
export function errorsOf({
  path,
  request,
  session,
  noDatabase,
  errors = [],
}: Operation): ErrorCode[] {
  const common: ErrorCode[] = ['METHOD_NOT_ALLOWED', 'RATE_LIMITED', 'INTERNAL_ERROR']
  if (path.startsWith('/api/')) common.push('NOT_FOUND')
  if (request)
    common.push('VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE')
  if (session === 'required') common.push('SESSION_INVALID')
  if (!noDatabase) common.push('SERVICE_UNAVAILABLE')

  return [...errors, ...common]
}
