import type * as z from 'zod'
import {
  type ErrorCode,
  type Issue,
  invalidEmailMessage,
  invalidTokenMessage,
} from './errors'
import {
  lifetimes,
  maxPasskeys,
  maxSecondFactorFailures,
  passkeyPromptMs,
  passwordLimits,
  refreshGraceSeconds,
} from './lifetimes'
import * as routes from './routes'
import * as schemas from './schemas'

/** One operation of the API, for its route and the OpenAPI document. */
export type Operation = {
  /** Identifies the operation in the log. */
  name: string
  method: 'GET' | 'POST'
  path: string
  tag:
    | 'Operations'
    | 'Sessions'
    | 'Second factor'
    | 'Passkeys'
    | 'OpenID Connect'
    | 'Widgets'
    | 'Keys'
    | 'Health'
  summary: string
  description: string
  request?: z.ZodType
  requestExample?: object
  /** Whether the body is a form, instead of JSON. */
  form?: true
  /** Whether a path that accepts GET accepts POST too. */
  alsoPost?: true
  response: z.ZodType
  responseDescription: string
  responseExample: object
  /** Without this setting, or if it is `false`, the path responds with 404. */
  setting?:
    | 'PASSWORD_SIGN_IN'
    | 'SECOND_FACTOR'
    | 'PASSKEYS'
    | 'SMTP_URL'
    | 'WIDGET_SIGNING_KEYS'
    | 'ID_TOKEN_SIGNING_KEYS'
    | 'SCIM'
    | 'SETUP_LINKS'
  /**
   * Whether the operation sets or deletes cookies. `deletes` applies to 5xx errors too.
   */
  cookies?: 'sets' | 'deletes'
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
  /** Whether errors have the format of OAuth 2.0 (RFC 6749 §5.2). */
  oauth?: true
  /** The errors specific to the operation. `listErrors` adds the common ones. */
  errors?: readonly ErrorCode[]
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
const exampleRsaKey = {
  kty: 'RSA',
  n: 'ntV-hE_kZQshvWrzyy6jB2r8_J6qvjpCdygaslZgh9aPKRxLhylT9h3k…',
  e: 'AQAB',
  kid: 'uw14tt867xvJjCL8RCS43jtvs6k3vLNn01XsN67CIWM',
  alg: 'RS256',
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
const secondFactor = {
  session: 'required',
  setting: 'PASSWORD_SIGN_IN',
  description: 'Unless `PASSWORD_SIGN_IN` is `true`, the path responds with 404.',
} as const
const enrolment = {
  setting: 'SECOND_FACTOR',
  session: 'optional',
  description:
    'Without the setting `SECOND_FACTOR`, the path responds with 404. With the challenge of a\n' +
    'sign-in in which the user has to set up a second factor, no session is needed.',
} as const
const withPasskeyProof =
  'A user who has signed in with a passkey in the last ' +
  `${lifetimes.freshSignIn / 60} minutes can leave out the\n` +
  'password and the code. Then, the refresh cookie of that browser is needed instead of the JWT.'
const recoveryCodes = {
  response: schemas.RecoveryCodesResponse,
  responseDescription: 'Ten recovery codes, which are shown only now.',
  responseExample: {
    ok: true,
    recoveryCodes: Array(10).fill('7K3M9Q-XAT2VD-HB5RW8-0FJCNE'),
  },
}
const codeErrors = ['SECOND_FACTOR_INVALID', 'SECOND_FACTOR_LOCKED'] as const
const passkeys = { tag: 'Passkeys', setting: 'PASSKEYS' } as const
const withoutPasskeys = 'Unless `PASSKEYS` is `true`, the path responds with 404.'
const needsFreshSignIn =
  'Needs the refresh cookie of a browser in which the user has signed in with a password or a\n' +
  `passkey in the last ${lifetimes.freshSignIn / 60} minutes, and with the second factor if the user has one. A JWT is\n` +
  'not enough.'
const examplePasskey = {
  id: sessionId,
  name: 'Firefox on Windows',
  provider: 'Google Password Manager',
  synced: true,
  createdAt: exampleInstant,
}
const exampleChallenge = 'vOo8vcSuwfDlpUlSQhoZmXFLqWkBuxVMXhT4_zcJqk9oZmXF'
const credentialId = 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM'
const userHandle = 'Ww9qUjwe'.padEnd(22, 'A')

const publicKeys = {
  response: schemas.JwksResponse,
  responseExample: { keys: [exampleKey] },
  noDatabase: true,
  publicSeconds: 5 * 60,
  mediaType: 'application/jwk-set+json',
} as const

const openId = {
  tag: 'OpenID Connect',
  setting: 'ID_TOKEN_SIGNING_KEYS',
  oauth: true,
} as const
const discovery = {
  tag: 'OpenID Connect',
  setting: 'ID_TOKEN_SIGNING_KEYS',
  summary: 'The document with which OpenID clients configure themselves.',
  description:
    'OpenID Connect Discovery §3. Without the setting `ID_TOKEN_SIGNING_KEYS`, the path responds with 404.',
  response: schemas.ProviderResponse,
  responseDescription: 'The endpoints, and what they support.',
  responseExample: {
    issuer: 'https://login.example.com',
    authorization_endpoint: `https://login.example.com${routes.authorize.path}`,
    token_endpoint: `https://login.example.com${routes.issueTokens.path}`,
    userinfo_endpoint: `https://login.example.com${routes.getUserInfo.path}`,
    revocation_endpoint: `https://login.example.com${routes.revokeToken.path}`,
    end_session_endpoint: `https://login.example.com${routes.signOutForClient.path}`,
    jwks_uri: `https://login.example.com${routes.getIdTokenKeys.path}`,
  },
  noDatabase: true,
  publicSeconds: 5 * 60,
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
      `A code is valid for ${lifetimes.code} seconds and works once. A code that was issued for\n` +
      'one browser does not work in another browser, and an attempt there changes nothing. A\n' +
      'success ends the sessions whose cookies the request contains.\n\n' +
      'If a browser has used a code and presents it again, the browser gets an error, but its\n' +
      'session continues. This browser is recognized by its cookie `__Host-browser` for 10\n' +
      'seconds after the first use, or by the cookies of that session. In all other cases,\n' +
      'presenting a used code again ends the session that the code started (RFC 6749 §4.1.2).\n' +
      'Browsers repeat a POST whose response is lost: the same request of a page of this service\n' +
      'gets the same session again for 60 seconds.',
    request: schemas.SsoExchangeRequest,
    requestExample: { code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    ...tokens,
    responseDescription: 'The session. Browsers also receive both tokens as cookies.',
    cookies: 'sets',
    errors: ['SSO_EXCHANGE_INVALID'],
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
      'get a 429. The responses are the same for accounts that do not exist, after the same\n' +
      'amount of computation. A user with a second factor gets a challenge instead of a\n' +
      'session (403), in the body and as a cookie. If `SECOND_FACTOR` is `required`, so does a\n' +
      'user without one, who sets up a factor with it.',
    request: schemas.SignInRequest,
    requestExample: { email: 'ada@example.com', password },
    ...tokens,
    responseDescription:
      'The session. Browsers also get both as cookies, and one that makes them known browsers.',
    cookies: 'sets',
    errors: ['SIGN_IN_INVALID', 'SECOND_FACTOR_REQUIRED'],
    issueExamples: { email: emailIssue },
  },
  signInSecondFactor: {
    ...routes.signInSecondFactor,
    tag: 'Operations',
    setting: 'PASSWORD_SIGN_IN',
    summary:
      'Complete a sign-in with a code of an authenticator app, or with a recovery code.',
    description:
      'Unless `PASSWORD_SIGN_IN` is `true`, the path responds with 404. A challenge works for\n' +
      `${lifetimes.secondFactorStep / 60} minutes, and starts at most one session. It becomes invalid when the\n` +
      `password or the second factor changes. In ${passwordLimits.windowSeconds / 60} minutes,\n` +
      `${passwordLimits.perSecondFactor} codes may be wrong. Further attempts get a 429. After\n` +
      `${maxSecondFactorFailures} wrong codes in a row, only a recovery code works.`,
    request: schemas.SignInSecondFactorRequest,
    requestExample: { challenge: 'WwT2rTweSlWaDG-eLRt8NGk2CoI'.padEnd(88, 'x'), code },
    ...tokens,
    responseDescription:
      'The session, as after a sign-in. The cookie with the challenge is deleted.',
    cookies: 'sets',
    errors: ['CHALLENGE_INVALID', ...codeErrors],
  },
  getPasskeySignInOptions: {
    ...passkeys,
    ...routes.getPasskeySignInOptions,
    summary: 'Get what a browser needs to ask for a passkey.',
    description:
      `${withoutPasskeys} The options are\n` +
      'the same for every user, so they reveal nothing about accounts. `parseRequestOptionsFromJSON()`\n' +
      `reads them. The challenge works for ${lifetimes.passkeySignIn / 60} minutes, and starts at most one session.`,
    response: schemas.PasskeySignInOptionsResponse,
    responseDescription: 'The options, with a new challenge.',
    responseExample: {
      ok: true,
      options: {
        challenge: exampleChallenge,
        rpId: 'login.example.com',
        userVerification: 'required',
        timeout: passkeyPromptMs,
      },
      expiresAt: exampleInstant,
    },
  },
  signInWithPasskey: {
    ...passkeys,
    ...routes.signInWithPasskey,
    summary: 'Sign in with a passkey.',
    description:
      `${withoutPasskeys} A passkey is a\n` +
      'complete sign-in: no password and no second factor follow. The `amr` of the JWT is\n' +
      '`["pop","user","mfa"]`. A failure does not use the challenge up. A success ends the sessions\n' +
      'whose cookies the request contains.',
    request: schemas.SignInPasskeyRequest,
    requestExample: {
      credential: {
        id: credentialId,
        clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
        authenticatorData: 'v6vDdDKVi0sGM2DTrWRhycRzWuf47dRlkqXg8BRSsuQdAAAAAA',
        signature: 'MEUCIQDX',
        userHandle,
      },
    },
    ...tokens,
    responseDescription:
      'The session, as after a sign-in with a password. The cookie with the challenge of a second\n' +
      'factor is deleted.',
    cookies: 'sets',
    errors: ['CHALLENGE_INVALID', 'PASSKEY_INVALID'],
  },
  listPasskeys: {
    ...passkeys,
    ...routes.listPasskeys,
    summary: 'The passkeys of the user.',
    description: withoutPasskeys,
    response: schemas.PasskeysResponse,
    responseDescription: 'The passkeys.',
    responseExample: { ok: true, available: true, passkeys: [examplePasskey] },
    session: 'required',
  },
  startPasskey: {
    ...passkeys,
    ...routes.startPasskey,
    summary: 'Get what a browser needs to create a passkey.',
    description:
      `${withoutPasskeys}\n${needsFreshSignIn}\n` +
      '`parseCreationOptionsFromJSON()` reads the options. The challenge works for\n' +
      `${lifetimes.passkeyRegistration / 60} minutes in this session, until the password or the second factor changes. A\n` +
      `user can have ${maxPasskeys} passkeys. The challenge of a sign-in in which the user has to set up a\n` +
      'second factor replaces the fresh sign-in.',
    request: schemas.StartPasskeyRequest,
    requestExample: {},
    response: schemas.PasskeyOptionsResponse,
    responseDescription: 'The options, with a new challenge. Nothing is stored.',
    responseExample: {
      ok: true,
      options: {
        challenge: exampleChallenge,
        rp: { id: 'login.example.com', name: 'Dashboard' },
        user: {
          id: userHandle,
          name: 'ada@example.com',
          displayName: 'ada@example.com',
        },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: [],
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
        attestation: 'none',
        timeout: passkeyPromptMs,
      },
      expiresAt: exampleInstant,
    },
    errors: ['CHALLENGE_INVALID', 'SIGN_IN_AGAIN', 'PASSKEY_CONFLICT'],
  },
  addPasskey: {
    ...passkeys,
    ...routes.addPasskey,
    summary: 'Store the passkey that a browser has created.',
    description:
      `${withoutPasskeys} Needs the\n` +
      'refresh cookie of the session that got the options, or its challenge of a sign-in. If email\n' +
      'is configured, the user gets an email.',
    request: schemas.AddPasskeyRequest,
    requestExample: {
      credential: {
        id: credentialId,
        clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0',
        attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVik',
        transports: ['internal', 'hybrid'],
      },
    },
    response: schemas.PasskeyResponse,
    responseDescription:
      'The user can sign in with the passkey. With `recoveryCodes` if a second factor is required\n' +
      'and this is the first one. With the challenge of a sign-in, the session too.',
    responseExample: { ok: true, passkey: examplePasskey },
    cookies: 'sets',
    errors: ['CHALLENGE_INVALID', 'PASSKEY_INVALID', 'SIGN_IN_AGAIN', 'PASSKEY_CONFLICT'],
  },
  renamePasskey: {
    ...passkeys,
    ...routes.renamePasskey,
    summary: 'Give a passkey another name.',
    description: withoutPasskeys,
    request: schemas.RenamePasskeyRequest,
    requestExample: { passkeyId: sessionId, name: 'My key' },
    responseDescription: 'The passkey has the name, or the user has no such passkey.',
    ...ok,
    session: 'required',
    issueExamples: {
      name: {
        path: ['name'],
        code: 'invalid_name',
        message: 'Enter a name of 1 to 60 characters.',
      },
    },
  },
  removePasskey: {
    ...passkeys,
    ...routes.removePasskey,
    summary: 'Remove a passkey, and end all other sessions.',
    description:
      `${withoutPasskeys}\n${needsFreshSignIn}\n` +
      'If email is configured, the user gets an email.',
    request: schemas.RemovePasskeyRequest,
    requestExample: { passkeyId: sessionId },
    responseDescription: 'The passkey is removed, or the user has no such passkey.',
    ...ok,
    errors: ['SIGN_IN_AGAIN'],
  },
  getSecondFactor: {
    ...secondFactor,
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
      methods: ['totp', 'recovery-code'],
    },
  },
  startSecondFactor: {
    ...secondFactor,
    ...routes.startSecondFactor,
    tag: 'Second factor',
    ...enrolment,
    summary: 'Get a secret for an authenticator app, which is not stored yet.',
    request: schemas.StartSecondFactorRequest,
    requestExample: { password },
    response: schemas.StartSecondFactorResponse,
    responseDescription:
      'The secret. The user must confirm it with its first code within ten minutes. Browsers\n' +
      'also get the enrolment as a cookie.',
    responseExample: {
      ok: true,
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      uri: 'otpauth://totp/Dashboard:ada%40example.com?issuer=Dashboard&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      enrolment: refreshToken,
      expiresAt: exampleInstant,
    },
    cookies: 'sets',
    errors: [
      'SIGN_IN_INVALID',
      'CHALLENGE_INVALID',
      'SESSION_INVALID',
      'SECOND_FACTOR_CONFLICT',
    ],
  },
  confirmSecondFactor: {
    ...secondFactor,
    ...routes.confirmSecondFactor,
    tag: 'Second factor',
    ...recoveryCodes,
    ...enrolment,
    summary:
      'Switch the second factor on, with the first code of the app, and end all other sessions.',
    request: schemas.ConfirmSecondFactorRequest,
    requestExample: { enrolment: refreshToken, code },
    response: schemas.ConfirmSecondFactorResponse,
    responseDescription:
      'Ten recovery codes, which are shown only now. With a challenge, the session too, as after\n' +
      'a sign-in.',
    cookies: 'sets',
    errors: [
      'CHALLENGE_INVALID',
      'SECOND_FACTOR_INVALID',
      'SESSION_INVALID',
      'SECOND_FACTOR_CONFLICT',
    ],
  },
  replaceRecoveryCodes: {
    ...secondFactor,
    ...routes.replaceRecoveryCodes,
    tag: 'Second factor',
    ...recoveryCodes,
    summary: 'Replace the recovery codes. The earlier ones no longer work.',
    description:
      `${secondFactor.description}\n${withPasskeyProof}\n` +
      'If a second factor is required, a user whose only factor is a passkey gets the first codes.',
    request: schemas.ReplaceRecoveryCodesRequest,
    requestExample: { password, code },
    errors: ['SIGN_IN_INVALID', ...codeErrors, 'SIGN_IN_AGAIN', 'SECOND_FACTOR_CONFLICT'],
  },
  removeSecondFactor: {
    ...secondFactor,
    ...routes.removeSecondFactor,
    tag: 'Second factor',
    ...ok,
    summary: 'Switch the second factor off, and end all other sessions.',
    description:
      `${secondFactor.description}\n${withPasskeyProof}\n` +
      'If a second factor is required and the user has a passkey, only the authenticator app is\n' +
      'removed. Without a passkey, the next sign-in with the password sets up a factor again.',
    request: schemas.RemoveSecondFactorRequest,
    requestExample: { password, code },
    responseDescription: 'The second factor is off.',
    errors: ['SIGN_IN_INVALID', ...codeErrors, 'SIGN_IN_AGAIN', 'SECOND_FACTOR_CONFLICT'],
  },
  resetPassword: {
    ...routes.resetPassword,
    tag: 'Operations',
    summary: 'Set a new password with the token from a reset email.',
    description:
      'Ends every session of the user. After a rejected password, the token stays valid: then\n' +
      'the `path` of each issue is `password`, not `token`.',
    request: schemas.ResetPasswordRequest,
    requestExample: { token: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv', password },
    responseDescription: 'The password is changed.',
    ...ok,
    issueExamples: { token: tokenIssue, password: passwordIssue },
  },
  changePassword: {
    ...routes.changePassword,
    tag: 'Operations',
    setting: 'PASSWORD_SIGN_IN',
    summary: 'Replace the password of the signed-in user.',
    description:
      'Ends all other sessions of the user, except those that clients got from the session of\n' +
      'the request. If email is configured, the user gets an email. The issues of a new\n' +
      'password are those of a reset. Unless `PASSWORD_SIGN_IN` is `true`, the path responds\n' +
      'with 404.',
    request: schemas.ChangePasswordRequest,
    requestExample: { currentPassword: 'meadow otter lantern', password },
    responseDescription: 'The password is changed.',
    ...ok,
    session: 'required',
    errors: ['SIGN_IN_INVALID'],
    issueExamples: { password: passwordIssue },
  },
  forgotPassword: {
    ...routes.forgotPassword,
    tag: 'Operations',
    setting: 'SMTP_URL',
    noDatabase: true,
    summary: 'Email a user a link to set a new password.',
    description:
      'The response is the same for every address, and is sent before the user is looked up. A\n' +
      'user gets at most 1 email in a minute and 3 in an hour, and 1 in an hour after 10 in a\n' +
      'day. Requests above these limits are ignored. Only the link of the newest reset email or\n' +
      'invitation works. Without the settings for email, the path responds with 404.',
    request: schemas.ForgotPasswordRequest,
    requestExample: { email: 'ada@example.com' },
    responseDescription:
      'If the address belongs to a user, an email with a link to `/reset-password` follows. For a\n' +
      'user who may only use SSO, the link leads to `SIGN_IN_URL`. A disabled user gets no email.',
    ...ok,
    issueExamples: { email: emailIssue },
  },
  refreshSession: {
    ...routes.refreshSession,
    tag: 'Sessions',
    summary: 'Renew a session with its refresh token.',
    description:
      `Rotates the refresh token, at most once in ${refreshGraceSeconds} seconds. During these\n` +
      'seconds, the current and the previous token both return the current token, so that\n' +
      'parallel requests and lost responses do no harm. Any other token that was replaced ends\n' +
      'the session, because it was probably copied (RFC 9700 §4.14.2). So after the theft of a\n' +
      'token, the thief and the user cannot both continue to refresh.\n\n' +
      'The end of the session never changes. If the token was sent as a cookie, the new one is\n' +
      'returned only as a cookie. An error deletes no cookies. An OpenID client renews its\n' +
      'session at `POST /api/auth/token`.',
    request: schemas.RefreshTokenRequest,
    requestExample: { refreshToken },
    response: schemas.RefreshResponse,
    responseDescription:
      'A new JWT, and the current refresh token if the body had one. Browsers also receive both as cookies.',
    responseExample: tokens.responseExample,
    cookies: 'sets',
    errors: ['REFRESH_INVALID'],
  },
  getSession: {
    ...routes.getSession,
    tag: 'Sessions',
    summary: 'Get the session of the request, and its user.',
    description:
      'Reads the database, so a revoked session is rejected at once. If the request has both a\n' +
      'Bearer token and a cookie, the Bearer token is used. The access token of an OpenID client\n' +
      'is accepted too.',
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
      'The newest is first. The session of a browser and the sessions that clients got from it\n' +
      'are listed as one.',
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
      'If a session ends, the sessions that clients got from it end too. `others` ends all sessions except\n' +
      'that of the request and its clients. It also invalidates codes that could start\n' +
      'another session. Cookies are not changed.',
    request: schemas.EndSessionsRequest,
    requestExample: { sessionId },
    responseDescription: 'The sessions have ended, or the user has no such session.',
    ...ok,
    session: 'required',
  },
  signOut: {
    ...routes.signOut,
    tag: 'Sessions',
    summary: 'End the sessions of the request.',
    description:
      'Ends the session of each valid credential: the refresh token in the body, the Bearer\n' +
      'token, the session cookie, the refresh cookie. A JWT may have expired, because its\n' +
      'session can still be live. Ignores invalid credentials. If a credential belongs to an\n' +
      'OpenID client, the browser’s session and all sessions that clients got from it end too.\n' +
      'Always deletes the cookies: after a 503, the sessions are possibly still live. Without a\n' +
      'token, send `{}`.',
    request: schemas.RefreshTokenRequest,
    requestExample: {},
    responseDescription: 'The sessions have ended, or there was none.',
    ...ok,
    cookies: 'deletes',
    session: 'optional',
  },
  issueTokens: {
    ...routes.issueTokens,
    ...openId,
    summary: 'Exchange an authorization code, or renew the tokens of a client.',
    description:
      'RFC 6749 §4.1.3 and §6. A confidential client sends its ID and its secret in the header\n' +
      '`Authorization` (Basic) or in the form, a public client only `client_id`. A code works\n' +
      `once, for ${lifetimes.code} seconds. If the client presents it again after 10 seconds, its session ends.\n` +
      'Refresh tokens rotate as those of `POST /api/auth/refresh`. Codes count against a limit of\n' +
      'the client, and renewals against one of their session.',
    request: schemas.TokenRequest,
    form: true,
    requestExample: {
      grant_type: 'authorization_code',
      code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM',
      redirect_uri: 'https://dashboard.example.com/callback',
      code_verifier: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv',
      client_id: 'app',
    },
    response: schemas.TokenResponse,
    responseDescription: 'The tokens of the client.',
    responseExample: {
      access_token: token,
      token_type: 'Bearer',
      expires_in: lifetimes.sessionToken,
      refresh_token: refreshToken,
      id_token: token,
      scope: 'openid email profile',
    },
    crossOrigin: true,
    errors: ['GRANT_INVALID', 'GRANT_UNSUPPORTED', 'CLIENT_INVALID'],
  },
  getUserInfo: {
    ...routes.getUserInfo,
    ...openId,
    alsoPost: true,
    summary: 'Get the claims about the user of an access token.',
    description:
      'OpenID Connect Core §5.3. Accepts the access token of a client, in the header\n' +
      '`Authorization` only. Reads the database, so the token of an ended session is rejected at\n' +
      'once. `POST` does the same.',
    response: schemas.UserInfoResponse,
    responseDescription: 'The session of the client is live.',
    responseExample: {
      sub: '5b0f6a52-3c1e-4a55-9a0c-6f9e2d1b7c34',
      email: 'ada@example.com',
      email_verified: true,
      preferred_username: 'ada@example.com',
    },
    session: 'required',
    crossOrigin: true,
  },
  revokeToken: {
    ...routes.revokeToken,
    ...openId,
    summary: 'End the session of a client.',
    description:
      'RFC 7009. The client authenticates as at `POST /api/auth/token`. Ends the session of this\n' +
      'client only: the browser stays signed in, and so do other clients. Responds with 200 to a\n' +
      'token that is unknown or whose session has ended. The token of a browser or of another\n' +
      'client is a VALIDATION_ERROR, and changes nothing.',
    request: schemas.RevocationRequest,
    form: true,
    requestExample: { token: refreshToken, client_id: 'app' },
    response: schemas.EmptyResponse,
    responseDescription: 'The session of the client has ended.',
    responseExample: {},
    crossOrigin: true,
    errors: ['CLIENT_INVALID'],
  },
  getProvider: { ...discovery, ...routes.getProvider },
  getAuthorizationServer: {
    ...discovery,
    ...routes.getAuthorizationServer,
    summary: 'The same document, where RFC 8414 expects it.',
  },
  startWidgetSession: {
    ...routes.startWidgetSession,
    tag: 'Widgets',
    setting: 'WIDGET_SIGNING_KEYS',
    summary: 'Get a JWT for the API of a widget, on a page of an approved origin.',
    description:
      'The browser sends the `Origin` of the page, which must be approved for the widget. Use\n' +
      '`credentials: "omit"`. The operation responds to preflight requests (`OPTIONS`). Only the\n' +
      'approved origin can read a successful response. Every origin can read an error. The\n' +
      'operation has its own rate limit, with the values of the platform limit. Without the\n' +
      'setting `WIDGET_SIGNING_KEYS`, the path responds with 404.',
    request: schemas.WidgetSessionRequest,
    requestExample: { widgetToken: 'wgt_uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    response: schemas.WidgetSessionResponse,
    responseDescription: 'The page may use the widget.',
    responseExample: { ok: true, token, expiresAt: '2026-11-22T08:15:00.000Z' },
    crossOrigin: true,
    errors: ['WIDGET_TOKEN_INVALID', 'ORIGIN_REJECTED'],
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
  getIdTokenKeys: {
    ...publicKeys,
    ...routes.getIdTokenKeys,
    tag: 'Keys',
    setting: 'ID_TOKEN_SIGNING_KEYS',
    summary: 'The public keys of ID tokens (RFC 7517).',
    description:
      'RSA keys for RS256. They never sign session JWTs, so that a service that checks only the\n' +
      'signature and the issuer rejects an ID token. Without the setting\n' +
      '`ID_TOKEN_SIGNING_KEYS`, the path responds with 404.',
    response: schemas.RsaJwksResponse,
    responseExample: { keys: [exampleRsaKey] },
    responseDescription:
      'Every key that may have signed a valid ID token, and the next key.',
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
  alsoPost,
  crossOrigin,
}: Pick<Operation, 'method' | 'alsoPost' | 'crossOrigin'>): string {
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
  if (alsoPost) methods.push('POST')
  if (crossOrigin) methods.push('OPTIONS')

  return methods.join(', ')
}

/** Returns the codes of the errors that an operation can respond with. */
export function listErrors({
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
