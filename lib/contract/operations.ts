import type { z } from 'zod'
import { type ErrorCode, type Issue, invalidTokenMessage } from './errors'
import { paths } from './paths'
import {
  JwksResponse,
  OkResponse,
  passwordIssueCodes,
  ResetPasswordRequest,
  SsoExchangeRequest,
  SsoExchangeResponse,
} from './schemas'

/** One operation of the API, as its route and the OpenAPI document need it. */
export type Operation = {
  /** Identifies the operation in the log. */
  name: string
  method: 'GET' | 'POST'
  path: string
  tag: 'Operations' | 'Keys' | 'Health'
  summary: string
  description: string
  request?: z.ZodType
  requestExample?: object
  response: z.ZodType
  responseDescription: string
  responseExample: object
  /** Whether a success sets the session cookie. */
  setsSessionCookie?: boolean
  /** How long any cache may store the response, in seconds. Also allows any origin to read it. */
  publicSeconds?: number
  mediaType?: string
  /** The errors specific to the operation. The OpenAPI document adds the common ones. */
  errors: readonly ErrorCode[]
  badRequestDescription?: string
  issueExamples?: Record<string, Issue>
}

/**
 * Every public operation. Routes, 405 responses, the log, `/openapi.json` and tests use this table.
 */
export const operations = {
  exchangeSsoCode: {
    name: 'sso-exchange',
    method: 'POST',
    path: paths.exchangeSsoCode,
    tag: 'Operations',
    summary: 'Exchange a one-time SSO code for a session.',
    description: [
      'Each code works once. A code that is presented again more than 10 seconds after its use ends the session',
      'that it started (RFC 6749 §4.1.2), except from the browser that holds that session.',
    ].join('\n'),
    request: SsoExchangeRequest,
    requestExample: { code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' },
    response: SsoExchangeResponse,
    responseDescription: 'The session. Browsers also receive it as a cookie.',
    responseExample: {
      ok: true,
      token: 'eyJhbGci.eyJzdWIi.MEUCIQDX',
      refreshToken: 'Qm9a1dE3xK5yT7uP9wS0rF2gH4jL6zC8vB_nM-qWeRt',
    },
    setsSessionCookie: true,
    errors: ['SSO_EXCHANGE_INVALID', 'VALIDATION_ERROR', 'SERVICE_UNAVAILABLE'],
    badRequestDescription: 'The code is unknown, used or expired; or the body does not match the schema.',
    issueExamples: {
      code: { path: ['code'], code: 'invalid_type', message: 'This field is required.' },
      json: { path: [], code: 'invalid_json', message: 'The body is not JSON in UTF-8.' },
    },
  },
  resetPassword: {
    name: 'reset-password',
    method: 'POST',
    path: paths.resetPassword,
    tag: 'Operations',
    summary: 'Set a new password with the token from a reset e-mail.',
    description: [
      'Ends every session of the user. A rejected password leaves the token valid: the `path` of the issue tells',
      `\`token\` from \`password\`. Issues of a password: ${passwordIssueCodes.map((code) => `\`${code}\``).join(', ')}.`,
    ].join('\n'),
    request: ResetPasswordRequest,
    requestExample: { token: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv', password: 'lantern meadow otter' },
    response: OkResponse,
    responseDescription: 'The password is changed.',
    responseExample: { ok: true },
    errors: ['VALIDATION_ERROR', 'SERVICE_UNAVAILABLE'],
    badRequestDescription:
      'The token is unknown, used or expired; or the password is rejected; or the body does not match the schema.',
    issueExamples: {
      token: { path: ['token'], code: 'invalid_or_expired', message: invalidTokenMessage },
      password: { path: ['password'], code: 'too_short', message: 'Use at least 8 characters.' },
    },
  },
  getSigningKeys: {
    name: 'jwks',
    method: 'GET',
    path: paths.getSigningKeys,
    tag: 'Keys',
    summary: 'The public keys of the session JWTs (RFC 7517).',
    description: 'A key is published for longer than the response may be cached before it signs.',
    response: JwksResponse,
    responseDescription: 'Every key that may have signed a valid session, and the next one.',
    responseExample: {
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
          kid: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
          alg: 'ES256',
          use: 'sig',
        },
      ],
    },
    publicSeconds: 5 * 60,
    mediaType: 'application/jwk-set+json',
    errors: [],
  },
  getHealth: {
    name: 'health',
    method: 'GET',
    path: paths.getHealth,
    tag: 'Health',
    summary: 'Whether the process is alive.',
    description: 'Does not look at the database.',
    response: OkResponse,
    responseDescription: 'Alive.',
    responseExample: { ok: true },
    errors: [],
  },
  getReadiness: {
    name: 'health-ready',
    method: 'GET',
    path: paths.getReadiness,
    tag: 'Health',
    summary: 'Whether the process can serve.',
    description: 'The database responds, has the tables, and can be written to.',
    response: OkResponse,
    responseDescription: 'Ready.',
    responseExample: { ok: true },
    errors: ['SERVICE_UNAVAILABLE'],
  },
} as const satisfies Record<string, Operation>

/**
 * Returns the value of `Allow` for an operation. A path that accepts GET accepts HEAD too (RFC 9110
 * §9.3.2).
 */
export function allowedMethods({ method }: Pick<Operation, 'method'>): string {
  return method === 'GET' ? 'GET, HEAD' : method
}
