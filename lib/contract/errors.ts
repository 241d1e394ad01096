import { lifetimes } from './lifetimes'

const codeLifetime = lifetimes.code === 60 ? 'one minute' : `${lifetimes.code} seconds`
const onceInOneBrowser = `Each sign-in works once, for ${codeLifetime}, in the browser where you started it.`

/**
 * Every error of the service, with its code, its HTTP status, and its message for users.
 */
export const errors = {
  SSO_EXCHANGE_INVALID: {
    status: 400,
    message: `This sign-in can’t be used. ${onceInOneBrowser}`,
  },
  SIGN_IN_INVALID: {
    status: 400,
    message: 'The email address or the password is wrong.',
  },
  REFRESH_INVALID: { status: 400, message: 'This session has ended. Sign in again.' },
  CHALLENGE_INVALID: {
    status: 400,
    message: 'This step has expired, or your account has changed. Start again.',
  },
  SECOND_FACTOR_INVALID: { status: 400, message: 'This code is wrong.' },
  WIDGET_TOKEN_INVALID: { status: 400, message: 'This widget is not available.' },
  VALIDATION_ERROR: { status: 400, message: 'The request is invalid; see `issues`.' },
  SESSION_INVALID: {
    status: 401,
    message: 'There is no valid session. Refresh it, or sign in again.',
  },
  ORIGIN_REJECTED: {
    status: 403,
    message: 'This request came from another site. Use the form on a page of this site.',
  },
  SECOND_FACTOR_REQUIRED: {
    status: 403,
    message: 'Enter a code of your authenticator app.',
  },
  SECOND_FACTOR_LOCKED: {
    status: 403,
    message: 'There were too many wrong codes. Use a recovery code.',
  },
  NOT_FOUND: { status: 404, message: 'No such endpoint.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'Method not allowed; see the Allow header.',
  },
  SECOND_FACTOR_CONFLICT: {
    status: 409,
    message: 'The second factor was already changed. Open the page again.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is larger than 16 KiB.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'Send the body as application/json, in UTF-8, uncompressed.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests from your network. Wait a few minutes, then try again.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message:
      'Something went wrong on our side. Quote the request ID if you contact support.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'Temporarily unavailable. Nothing was changed; try again shortly.',
  },
} as const

/** Messages that replace the default message of a code where more is known. */
export const invalidTokenMessage =
  'This link is unknown, was already used, or has expired. Request a new one.'
export const tooManyPasswordsMessage =
  'There were too many sign-ins with wrong passwords. Wait a few minutes, then try again.'
export const invalidEmailMessage = 'Enter one email address, like name@example.com.'
export const wrongPasswordMessage = 'The current password is wrong.'
export const tooManyCodesMessage =
  'There were too many codes. Wait a few minutes, then try again.'
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

/**
 * Proves that the password of a user with a second factor was correct.
 * `signInSecondFactor` accepts it.
 */
export type Challenge = {
  challenge: string
  expiresAt: string
  methods: ('totp' | 'recovery-code')[]
}

type Details = {
  message?: string
  issues?: Issue[]
  retryAfterSeconds?: number
  /** Set if the request may have had its effect despite the error. */
  outcome?: 'unknown'
  challenge?: Challenge
  cause?: unknown
}

/**
 * Throw it to send an error response. The client receives the message. The `cause` is
 * only logged.
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

/** Creates a VALIDATION_ERROR with one issue. An empty `path` means the whole body. */
export function invalid(path: Issue['path'], code: string, message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', { issues: [{ path, code, message }] })
}
