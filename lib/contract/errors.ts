import type { Check } from './checks'
import { lifetimes, maxPasskeys, maxSecondFactorFailures } from './lifetimes'

const codeLifetime = lifetimes.code === 60 ? 'one minute' : `${lifetimes.code} seconds`
const onceInOneBrowser = `Each sign-in works once, for ${codeLifetime}, in the browser where you started it.`

/**
 * Every error of the service, with its code, its HTTP status, its message for users, and
 * a description for developers.
 */
export const errors = {
  SSO_EXCHANGE_INVALID: {
    status: 400,
    message: `This sign-in can’t be used. ${onceInOneBrowser}`,
    description:
      'The code is unknown, used, expired or for another browser; its user is\n' +
      'disabled; or the connection of the sign-in is disabled or no longer linked to\n' +
      'the user. The response is deliberately the same for all causes.',
  },
  SIGN_IN_INVALID: {
    status: 400,
    message: 'The email address or the password is wrong.',
    description:
      'The email address or the password is wrong, or the user is not allowed to use\n' +
      'a password. The response is deliberately the same for all causes.',
  },
  REFRESH_INVALID: {
    status: 400,
    message: 'This session has ended. Sign in again.',
    description:
      'The refresh token is missing, unknown or replaced, its session has ended, or\n' +
      'its user is disabled. The response deliberately does not contain the reason.',
  },
  CHALLENGE_INVALID: {
    status: 400,
    message: 'This step has expired, or your account has changed. Start again.',
    description:
      'The challenge or the enrolment is invalid, expired or used, or was issued\n' +
      'before a change of the account. Start the sign-in or the setup again.',
  },
  SECOND_FACTOR_INVALID: {
    status: 400,
    message: 'This code is wrong.',
    description: 'The code is wrong or used, as `issues` says.',
  },
  PASSKEY_INVALID: {
    status: 400,
    message: 'This passkey can’t be used. Sign in another way.',
    description:
      'The passkey is unknown, its response is invalid, or its user is disabled or may\n' +
      'only use SSO. The response is the same for all causes, except as `issues` says.',
  },
  WIDGET_TOKEN_INVALID: {
    status: 400,
    message: 'This widget is not available.',
    description:
      'The token is unknown, revoked or expired, or the widget is disabled. The\n' +
      'response is deliberately the same for all causes.',
  },
  GRANT_INVALID: {
    status: 400,
    message: 'The code or the refresh token cannot be used. Start the sign-in again.',
    description:
      'The code or the refresh token is unknown, used, expired, or of another client;\n' +
      '`redirect_uri` or `code_verifier` is not that of the code; or the session of the\n' +
      'browser has ended. The response is deliberately the same for all causes.',
  },
  GRANT_UNSUPPORTED: {
    status: 400,
    message: 'Use the grant type authorization_code or refresh_token.',
    description: 'The service has no other grants.',
  },
  VALIDATION_ERROR: {
    status: 400,
    message: 'The request is invalid; see `issues`.',
    description:
      'The body is not JSON or does not match the schema, or a value is rejected, as\n' +
      '`issues` says.',
  },
  SESSION_INVALID: {
    status: 401,
    message: 'There is no valid session. Refresh it, or sign in again.',
    description: 'The JWT is missing, invalid or expired, or its session has ended.',
  },
  CLIENT_INVALID: {
    status: 401,
    message: 'The client ID or the client secret is wrong, or the client is disabled.',
    description:
      'The client is unknown or disabled, or its secret is missing, wrong, expired or\n' +
      'revoked. The response is deliberately the same for all causes.',
  },
  ORIGIN_REJECTED: {
    status: 403,
    message: 'This request came from another site. Use the form on a page of this site.',
    description:
      'The `Origin` of the page is not approved for the widget, or a page of another\n' +
      'site sent a form that only pages of this site may send.',
  },
  SECOND_FACTOR_REQUIRED: {
    status: 403,
    message: 'Enter a code of your authenticator app.',
    description:
      'The password is right, and the user has a second factor, or has to set one up. No\n' +
      'session exists.',
  },
  SIGN_IN_AGAIN: {
    status: 403,
    message: 'Sign in again to do this.',
    description:
      'The operation needs the refresh cookie of a browser in which the user has signed\n' +
      'in with a password or a passkey in the last ' +
      `${lifetimes.freshSignIn / 60} minutes. If the user has a second\n` +
      'factor, the sign-in must have included it. In place of a password and a code, it must\n' +
      'have been a passkey.',
  },
  SECOND_FACTOR_LOCKED: {
    status: 403,
    message: 'There were too many wrong codes. Use a recovery code.',
    description:
      `${maxSecondFactorFailures} codes in a row were wrong. A recovery code or an\n` +
      'operator unlocks the second factor.',
  },
  NOT_FOUND: {
    status: 404,
    message: 'No such endpoint.',
    description: 'The response for all other paths under /api.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'Method not allowed; see the Allow header.',
    description: 'The response to all other methods.',
  },
  SECOND_FACTOR_CONFLICT: {
    status: 409,
    message: 'The second factor was already changed. Open the page again.',
    description:
      'The second factor is already on, or it is off and the operation needs it.',
  },
  PASSKEY_CONFLICT: {
    status: 409,
    message: 'This passkey can’t be added.',
    description:
      `The user has ${maxPasskeys} passkeys, the passkey was already added, or the account has\n` +
      'changed meanwhile.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body is larger than 16 KiB.',
    description: 'The body is larger than 16 KiB. It was not read to its end.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'Send the body as application/json, in UTF-8, uncompressed.',
    description: 'The body is not application/json in UTF-8, or it is compressed.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests from your network. Wait a few minutes, then try again.',
    description:
      'There were too many requests, or too many wrong passwords or codes. Nothing was done.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message:
      'Something went wrong on our side. Quote the request ID if you contact support.',
    description:
      'An unexpected server error. The log contains its cause and the request ID.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'Temporarily unavailable. Nothing was changed; try again shortly.',
    description:
      'The database is unreachable or slow, or too many passwords are queued for\n' +
      'hashing. Nothing was changed, unless `outcome` is `unknown`.',
  },
} as const

/**
 * The values of `error` in the responses of operations for OpenID clients (RFC 6749 §5.2,
 * RFC 6750 §3.1), by the code of the error. `invalid_request` stands for all others.
 */
export const oauthErrors = {
  GRANT_INVALID: 'invalid_grant',
  GRANT_UNSUPPORTED: 'unsupported_grant_type',
  CLIENT_INVALID: 'invalid_client',
  SESSION_INVALID: 'invalid_token',
  VALIDATION_ERROR: 'invalid_request',
  RATE_LIMITED: 'temporarily_unavailable',
  SERVICE_UNAVAILABLE: 'temporarily_unavailable',
  INTERNAL_ERROR: 'server_error',
} as const satisfies Partial<Record<ErrorCode, string>>

/** Returns the value of `error` for the code of an error. */
export function oauthErrorName(code: ErrorCode): string {
  return code in oauthErrors
    ? oauthErrors[code as keyof typeof oauthErrors]
    : oauthErrors.VALIDATION_ERROR
}

/** Messages that replace the default message of a code where more is known. */
export const invalidTokenMessage =
  'This link is unknown, was already used, or has expired. Request a new one.'
export const tooManyPasswordsMessage =
  'There were too many sign-ins with wrong passwords. Wait a few minutes, then try again.'
export const invalidEmailMessage = 'Enter one email address, like name@example.com.'
export const wrongPasswordMessage = 'The current password is wrong.'
export const tooManyCodesMessage =
  'There were too many codes. Wait a few minutes, then try again.'
export const usePasskeyMessage = 'Use your passkey.'
export const setUpMessage = 'Set up a second factor to sign in.'
export const originNotApprovedMessage = 'This widget is not approved for this site.'
export const outcomeUnknownMessage =
  'The database connection was lost, so the outcome is unknown. Do not retry automatically.'

/** The stable `code` of an error response. */
export type ErrorCode = keyof typeof errors

/**
 * One problem with the field at `path`. `code` is for programs, and stable. `message` is
 * for users, and may change.
 */
export type Issue = { path: (string | number)[]; code: string; message: string }

/** What can complete a sign-in after the password. */
export type StepMethod = 'totp' | 'passkey' | 'recovery-code'

/** A factor that a user can set up. */
export type SetUpMethod = 'passkey' | 'totp'

/** Proves that the password of a user who needs a second step was correct. */
export type Challenge = {
  challenge: string
  expiresAt: string
  /** What the user has. Empty if the user has to set up a factor. */
  methods: StepMethod[]
  /** What the user can set up, only if the user has to. */
  setUp?: SetUpMethod[] | undefined
}

/** The header `Retry-After` of a SERVICE_UNAVAILABLE without other `retryAfterSeconds`. */
export const retrySeconds = 5

type Details = {
  message?: string
  issues?: Issue[]
  retryAfterSeconds?: number
  /** Set if the request may have had its effect despite the error. */
  outcome?: 'unknown'
  challenge?: Challenge
  /** The reason for the log. The client never gets it. */
  check?: Check
  cause?: unknown
}

/**
 * Throw it to send an error response. The client receives the message. The `check` and
 * the `cause` are only logged.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    readonly code: ErrorCode,
    readonly details: Details = {},
  ) {
    super(details.message ?? details.issues?.[0]?.message ?? errors[code].message, {
      cause: details.cause,
    })
  }
}

/**
 * Creates a VALIDATION_ERROR with one issue. An empty `path` means the whole body. Without
 * a `check`, the log has the code of the issue.
 */
export function invalid(
  path: Issue['path'],
  code: string,
  message: string,
  check?: Check,
): ApiError {
  return new ApiError('VALIDATION_ERROR', {
    issues: [{ path, code, message }],
    ...(check && { check }),
  })
}
