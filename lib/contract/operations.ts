import type { z } from 'zod'
import { type ErrorCode, type Issue, invalidEmailMessage, invalidTokenMessage } from './errors'
import { maxSecondFactorFailures, passwordLimits, refreshGraceSeconds } from './lifetimes'
import * as paths from './paths'
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
  /** Which cookies the operation sets. `deletes` applies to 5xx errors too. */
  cookies?: 'sets' | 'sets for browsers' | 'deletes'
  /** Whether the client presents a session JWT: as a Bearer token, or in the session cookie. */
  session?: 'required' | 'optional'
  noDatabase?: true
  /** How long any cache may store the response, in seconds. If set, any origin may read it. */
  publicSeconds?: number
  mediaType?: string
  /** Whether pages of every site may call the operation (CORS). It reads no cookies, and has its own rate limit. */
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
const emailIssue = { path: ['email'], code: 'invalid_email', message: invalidEmailMessage }
const tokenIssue = { path: ['token'], code: 'invalid_or_expired', message: invalidTokenMessage }
const passwordIssue = { path: ['password'], code: 'too_short', message: 'Use at least 8 characters.' }

const get = (tag: Operation['tag'], name: string, path: string) => ({ method: 'GET', tag, name, path }) as const
const post = (tag: Operation['tag'], name: string, path: string) => ({ method: 'POST', tag, name, path }) as const
const tokens = { response: schemas.SessionTokensResponse, responseExample: { ok: true, token, refreshToken } }
const ok = { response: schemas.OkResponse, responseExample: { ok: true } }
const ofSecondFactor = {
  session: 'required',
  setting: 'PASSWORD_SIGN_IN',
  description: 'Exists where `POST /api/auth/sign-in` does.',
  badRequest: 'The password is wrong; or the code is wrong or used; or the enrolment is invalid',
} as const
const ofEnrolment = {
  setting: 'SECOND_FACTOR',
  description: 'Unless `SECOND_FACTOR` is `true`, the path is 404.',
} as const
const recoveryCodes = {
  response: schemas.RecoveryCodesResponse,
  responseDescription: 'Ten recovery codes, which are shown only now.',
  responseExample: { ok: true, recoveryCodes: Array(10).fill('7K3M9Q-XAT2VD-HB5RW8-0FJCNE') },
}
const ofCode = ['SECOND_FACTOR_INVALID', 'SECOND_FACTOR_LOCKED'] as const
const publicKeys = {
  response: schemas.JwksResponse,
  responseExample: { keys: [exampleKey] },
  noDatabase: true,
  publicSeconds: 5 * 60,
  mediaType: 'application/jwk-set+json',
} as const

/** Every public operation. Routes, 405 responses, the log, `/openapi.json` and tests use this table. */
export const operations = {
  exchangeSsoCode: {
    ...post('Operations', 'sso-exchange', paths.exchangeSsoCode),
    summary: 'Exchange a one-time SSO code for a session.',
    description:
      'Each code works once, and a code that was issued for one browser works in no other. A used code that is\n' +
      'presented again ends the session that it started (RFC 6749 §4.1.2), except from the browser that used it.\n' +
      'A success ends the sessions of the cookies that the request has.\n' +
      'A code of `GET /api/auth/authorize` needs its `codeVerifier`; cookies are then ignored, and none are set.',
    request: schemas.SsoExchangeRequest,
    requestExample: { code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    ...tokens,
    responseDescription: 'The session. Browsers also receive both tokens as cookies.',
    cookies: 'sets for browsers',
    errors: ['SSO_EXCHANGE_INVALID'],
    badRequest:
      'The code is unknown, used, expired, of another browser or a disabled user, or its verifier is missing or wrong',
    issueExamples: { code: { path: ['code'], code: 'invalid_type', message: 'This field is required.' } },
  },
  signIn: {
    ...post('Operations', 'sign-in', paths.signIn),
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Sign in with an email address and a password.',
    description:
      'Unless `PASSWORD_SIGN_IN` is `true`, the path is 404. A success ends the sessions of the cookies that\n' +
      `the request has. Within ${passwordLimits.windowSeconds / 60} minutes, ${passwordLimits.perAccountAndNetwork} attempts\n` +
      `per account and network may fail, ${passwordLimits.perAccount} per account and ${passwordLimits.perNetwork} per\n` +
      `network; a browser that signed in to the account before has ${passwordLimits.perKnownBrowser} of its own.\n` +
      'Further ones are 429, with the same response for accounts that do not exist.\n' +
      'A user with a second factor gets a challenge instead of a session, as a cookie too.',
    request: schemas.SignInRequest,
    requestExample: { email: 'ada@example.com', password },
    ...tokens,
    responseDescription: 'The session. Browsers also receive both tokens as cookies, and one that makes them known.',
    cookies: 'sets',
    errors: ['SIGN_IN_INVALID', 'SECOND_FACTOR_REQUIRED'],
    badRequest: 'There is no such user, the user may use no password, or it is wrong; or this is not one email address',
    issueExamples: { email: emailIssue },
  },
  signInSecondFactor: {
    ...post('Operations', 'sign-in-second-factor', paths.signInSecondFactor),
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Complete a sign-in with a code of an authenticator app, or with a recovery code.',
    description:
      'Exists where `POST /api/auth/sign-in` does. A challenge works for ten minutes, and starts one session at most.\n' +
      `A code works once. Within ${passwordLimits.windowSeconds / 60} minutes, ${passwordLimits.perSecondFactor} may fail.\n` +
      `After ${maxSecondFactorFailures} wrong ones in a row, only a recovery code works.`,
    request: schemas.SignInSecondFactorRequest,
    requestExample: { challenge: 'WwT2rTweSlWaDG-eLRt8NGk2CoI'.padEnd(88, 'x'), code },
    ...tokens,
    responseDescription: 'The session, as of a sign-in. Browsers lose the cookie with the challenge.',
    cookies: 'sets',
    errors: ['CHALLENGE_INVALID', ...ofCode],
    badRequest: 'The challenge is invalid, expired or used, or the account has changed; or the code is wrong or used',
  },
  getSecondFactor: {
    ...ofSecondFactor,
    ...get('Second factor', 'second-factor', paths.getSecondFactor),
    summary: 'Whether the user has a second factor.',
    response: schemas.SecondFactorResponse,
    responseDescription: 'The second factor, without its secret.',
    responseExample: { ok: true, available: true, enabledAt: exampleInstant, recoveryCodesLeft: 10 },
  },
  startSecondFactor: {
    ...ofSecondFactor,
    ...post('Second factor', 'second-factor-start', paths.startSecondFactor),
    ...ofEnrolment,
    summary: 'Get a secret for an authenticator app, which is not stored yet.',
    request: schemas.StartSecondFactorRequest,
    requestExample: { password },
    response: schemas.StartSecondFactorResponse,
    responseDescription: 'The secret, to be confirmed with its first code within ten minutes.',
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
    ...post('Second factor', 'second-factor-confirm', paths.confirmSecondFactor),
    ...recoveryCodes,
    ...ofEnrolment,
    summary: 'Switch the second factor on, with the first code of the app, and end all other sessions.',
    request: schemas.ConfirmSecondFactorRequest,
    requestExample: { enrolment: refreshToken, code },
    errors: ['CHALLENGE_INVALID', 'SECOND_FACTOR_INVALID', 'SECOND_FACTOR_CONFLICT'],
  },
  replaceRecoveryCodes: {
    ...ofSecondFactor,
    ...post('Second factor', 'second-factor-recovery-codes', paths.replaceRecoveryCodes),
    ...recoveryCodes,
    summary: 'Replace the recovery codes.',
    request: schemas.ReplaceRecoveryCodesRequest,
    requestExample: { password, code },
    errors: ['SIGN_IN_INVALID', ...ofCode, 'SECOND_FACTOR_CONFLICT'],
  },
  removeSecondFactor: {
    ...ofSecondFactor,
    ...post('Second factor', 'second-factor-remove', paths.removeSecondFactor),
    ...ok,
    summary: 'Switch the second factor off, and end all other sessions.',
    request: schemas.RemoveSecondFactorRequest,
    requestExample: { password, code },
    responseDescription: 'The second factor is off.',
    errors: ['SIGN_IN_INVALID', ...ofCode, 'SECOND_FACTOR_CONFLICT'],
  },
  resetPassword: {
    ...post('Operations', 'reset-password', paths.resetPassword),
    summary: 'Set a new password with the token from a reset email.',
    description:
      'Ends every session of the user. A rejected password leaves the token valid: the `path` of the issue tells\n' +
      `\`token\` from \`password\`. Issues of a password: ${schemas.passwordIssueCodes.map((code) => `\`${code}\``).join(', ')}.`,
    request: schemas.ResetPasswordRequest,
    requestExample: { token: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv', password },
    responseDescription: 'The password is changed.',
    ...ok,
    badRequest: 'The token is unknown, used or expired; or the password is rejected',
    issueExamples: { token: tokenIssue, password: passwordIssue },
  },
  changePassword: {
    ...post('Operations', 'password-change', paths.changePassword),
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Replace the password of the signed-in user.',
    description:
      'Ends every other session of the user. A wrong current password counts as an attempt to sign in. Issues of the new\n' +
      'one are those of a reset. Unless `PASSWORD_SIGN_IN` is `true`, the path is 404.',
    request: schemas.ChangePasswordRequest,
    requestExample: { currentPassword: 'meadow otter lantern', password },
    responseDescription: 'The password is changed.',
    ...ok,
    session: 'required',
    errors: ['SIGN_IN_INVALID'],
    badRequest: 'The current password is wrong, or the user may use none; or the new one is rejected',
    issueExamples: { password: passwordIssue },
  },
  forgotPassword: {
    ...post('Operations', 'forgot-password', paths.forgotPassword),
    setting: 'SMTP_URL',
    noDatabase: true,
    summary: 'Mail a user a link to set a new password.',
    description:
      'The response is the same for every address, and comes before any look-up. At most 1 email a minute and 3 an\n' +
      'hour per user, and 1 an hour after 10 in a day. Without the settings for email, the path is 404.',
    request: schemas.ForgotPasswordRequest,
    requestExample: { email: 'ada@example.com' },
    responseDescription: 'If there is such a user who may set a password, an email is on its way.',
    ...ok,
    badRequest: 'This is not one email address',
    issueExamples: { email: emailIssue },
  },
  refreshSession: {
    ...post('Sessions', 'refresh', paths.refreshSession),
    summary: 'Renew a session with its refresh token.',
    description:
      `Rotates the refresh token, at most once in ${refreshGraceSeconds} seconds: until then, the current and the\n` +
      'previous token both return the current one, so that parallel requests and lost responses do no harm.\n' +
      'Any older token ends the session (RFC 9700 §4.14.2). The session itself is never extended.\n' +
      'A refresh by cookie returns the refresh token only as a cookie. A rejected one keeps the cookies.',
    request: schemas.RefreshTokenRequest,
    requestExample: { refreshToken },
    response: schemas.RefreshResponse,
    responseDescription:
      'A new JWT, and the current refresh token if the body had one. Browsers also receive both as cookies.',
    responseExample: tokens.responseExample,
    cookies: 'sets',
    errors: ['REFRESH_INVALID'],
    badRequest: 'The refresh token is missing, unknown or outdated, or its session has ended',
  },
  getSession: {
    ...get('Sessions', 'session', paths.getSession),
    summary: 'Whose session this is, and until when.',
    description:
      'Rejects a revoked session at once. For browsers: all requests of one server count against the limit of its address.',
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
    ...get('Sessions', 'sessions', paths.listSessions),
    summary: 'The live sessions of the user.',
    description: 'Newest first. The session of a browser and those that dashboards got from it count as one.',
    response: schemas.SessionsResponse,
    responseDescription: 'The session of the request is live.',
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
    ...post('Sessions', 'end-sessions', paths.endSessions),
    summary: 'End a session of the user, or all others.',
    description:
      'A session ends with those that dashboards got from it. `others` spares the session of the request with all of\n' +
      'these, and also invalidates codes with which another session could start.',
    request: schemas.EndSessionsRequest,
    requestExample: { sessionId },
    responseDescription: 'The sessions have ended, or the user has no such session.',
    ...ok,
    session: 'required',
    badRequest: 'There is neither `sessionId` nor `others`',
  },
  signOut: {
    ...post('Sessions', 'sign-out', paths.signOut),
    summary: 'End the sessions of the request.',
    description:
      'Ends the session of each valid credential: the refresh token in the body, the Bearer token, the cookies.\n' +
      'Ignores invalid and expired ones. Deletes the cookies in any case. Send `{}` without a token.',
    request: schemas.RefreshTokenRequest,
    requestExample: {},
    responseDescription: 'The sessions have ended, or there was none.',
    ...ok,
    cookies: 'deletes',
    session: 'optional',
  },
  startWidgetSession: {
    ...post('Widgets', 'widget-session', paths.startWidgetSession),
    setting: 'WIDGET_SIGNING_KEYS',
    summary: 'Get a JWT for the API of a widget, on a page of an approved origin.',
    description:
      'The browser sends the `Origin` of the page, which must be approved for the widget. Call it with\n' +
      '`credentials: "omit"`. It has a rate limit of its own, with the numbers of the platform limit. Without the setting\n' +
      '`WIDGET_SIGNING_KEYS`, the path is 404.',
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
    ...get('Keys', 'widget-jwks', paths.getWidgetKeys),
    setting: 'WIDGET_SIGNING_KEYS',
    summary: 'The public keys of the widget JWTs (RFC 7517).',
    description: 'Never those of the session JWTs. Without the setting `WIDGET_SIGNING_KEYS`, the path is 404.',
    responseDescription: 'Every key that may have signed a valid widget JWT, and the next one.',
  },
  getSigningKeys: {
    ...publicKeys,
    ...get('Keys', 'jwks', paths.getSigningKeys),
    summary: 'The public keys of the session JWTs (RFC 7517).',
    description: 'A key is published for longer than the response may be cached before it signs.',
    responseDescription: 'Every key that may have signed a valid session, and the next one.',
  },
  getHealth: {
    ...get('Health', 'health', paths.getHealth),
    summary: 'Whether the process is alive.',
    description: 'Does not look at the database.',
    noDatabase: true,
    responseDescription: 'Alive.',
    ...ok,
  },
  getReadiness: {
    ...get('Health', 'health-ready', paths.getReadiness),
    summary: 'Whether the process can serve.',
    description: 'The database responds, is writable, and has every migration of this version.',
    responseDescription: 'Ready.',
    ...ok,
  },
} as const satisfies Record<string, Operation>

/** Returns the value of `Allow` for an operation. A path that accepts GET accepts HEAD too (RFC 9110 §9.3.2). */
export function allowedMethods({ method, crossOrigin }: Pick<Operation, 'method' | 'crossOrigin'>): string {
  return method === 'GET' ? 'GET, HEAD' : crossOrigin ? `${method}, OPTIONS` : method
}

/** Returns the codes of the errors that an operation can respond with. */
export function errorsOf({ path, request, session, noDatabase, errors = [] }: Operation): ErrorCode[] {
  const common: ErrorCode[] = ['METHOD_NOT_ALLOWED', 'RATE_LIMITED', 'INTERNAL_ERROR']
  if (path.startsWith('/api/')) common.push('NOT_FOUND')
  if (request) common.push('VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE')
  if (session === 'required') common.push('SESSION_INVALID')
  if (!noDatabase) common.push('SERVICE_UNAVAILABLE')
  return [...errors, ...common]
}
