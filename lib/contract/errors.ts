/** Every error of the service: its code, its HTTP status, and what it tells the user who reads it. */
export const errors = {
  SSO_EXCHANGE_INVALID: {
    status: 400,
    message: 'This sign-in code is unknown, was already used, or has expired. Start signing in again.',
  },
  VALIDATION_ERROR: { status: 400, message: 'The request is invalid; see `issues`.' },
  ORIGIN_REJECTED: { status: 403, message: 'This request came from another site. Sign out on a page of this site.' },
  NOT_FOUND: { status: 404, message: 'No such endpoint.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'Method not allowed; see the Allow header.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is larger than 16 KiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send the body as application/json, in UTF-8, uncompressed.' },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests from your network. Wait as long as the Retry-After header says.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong on our side. Quote the request ID if you contact support.',
  },
  SERVICE_UNAVAILABLE: { status: 503, message: 'Temporarily unavailable. Nothing was changed; try again shortly.' },
} as const

/** Messages that say more than the one of their code. */
export const invalidTokenMessage = 'This link is unknown, was already used, or has expired. Request a new one.'
export const outcomeUnknownMessage =
  'The database connection was lost, so the outcome is unknown. Do not retry automatically.'

export type ErrorCode = keyof typeof errors

/** What is wrong with one field. `path` leads to it; `code` is stable and for programs; `message` is for users and may change. */
export type Issue = { path: (string | number)[]; code: string; message: string }

type Details = {
  message?: string
  issues?: Issue[]
  retryAfterSeconds?: number
  /** The request may have had its effect all the same. */
  outcome?: 'unknown'
  cause?: unknown
}

/** Thrown to respond with an error of the contract. The message goes to the client, the `cause` to the log only. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly issues?: Issue[]
  readonly retryAfterSeconds?: number
  readonly outcome?: 'unknown'

  constructor(code: ErrorCode, { message, issues, retryAfterSeconds, outcome, cause }: Details = {}) {
    super(message ?? issues?.[0]?.message ?? errors[code].message, { cause })
    this.name = 'ApiError'
    this.code = code
    this.issues = issues
    this.retryAfterSeconds = retryAfterSeconds
    this.outcome = outcome
  }
}

/** A VALIDATION_ERROR about one field, or about the body as a whole where `path` is empty. */
export function invalid(path: Issue['path'], code: string, message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', { issues: [{ path, code, message }] })
}
