import { z } from 'zod'
import {
  KeySetAnswer,
  PlainAnswer,
  PublicJwk,
  passwordIssueCodes,
  ResetPasswordRequest,
  refusalAnswer,
  SsoExchangeAnswer,
  SsoExchangeRequest,
} from './contract'
import { deadLinkMessage, type Issue, outcomeUnknownMessage, type RefusalCode, refusals } from './errors'
import { platformLimit } from './rate-limit'

const requestId = '7f3c9f0e-8a55-4d8e-9d0a-0f2c6b1f9e11'
// The form that ends a session is no operation for programs.
const codes = (Object.keys(refusals) as RefusalCode[]).filter((code) => code !== 'ORIGIN_REJECTED')
const exampleKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
  alg: 'ES256',
  use: 'sig',
}

const commonHeaders = ['Cache-Control', 'X-Request-Id', 'X-Content-Type-Options', 'RateLimit-Policy', 'RateLimit']

const { requests, windowSeconds } = platformLimit

const headerObjects = {
  'Cache-Control': header('Nothing of it is to be kept.', { const: 'no-store' }),
  'X-Request-Id': header('What the log knows the request by: the X-Request-Id of the request where it has this form, else a new one.', {
    pattern: '^[\\w.-]{8,40}$',
  }),
  'X-Content-Type-Options': header('The body is what Content-Type says.', { const: 'nosniff' }),
  'RateLimit-Policy': header('The platform limit (draft-ietf-httpapi-ratelimit-headers-10).', {
    const: `"platform";q=${requests};w=${windowSeconds}`,
  }),
  RateLimit: header('What is left of it (r), and seconds until it is whole again (t).', { pattern: '^"platform";r=\\d+;t=\\d+$' }),
  'Retry-After': header('Seconds.', { pattern: '^[1-9]\\d*$' }),
  Allow: header('The methods that the address takes (RFC 9110 §15.5.6).', { enum: ['POST', 'GET, HEAD'] }),
  'Accept-Post': header('The media type that it takes.', { const: 'application/json' }),
  'Set-Cookie': header('The session JWT, where no script can read it: `__Host-session` over https, `session` on a laptop.', {
    pattern: '^(__Host-)?session=[^;]+; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax(; Secure)?$',
  }),
}

/** The refusals that are the only one with their status: what they mean, and the headers that they add. */
const sharedRefusals: Partial<Record<RefusalCode, [description: string, ...headers: string[]]>> = {
  NOT_FOUND: ['To every other address under /api.'],
  METHOD_NOT_ALLOWED: ['To every other method at this address.', 'Allow'],
  PAYLOAD_TOO_LARGE: ['The body is larger than 16 KiB; it was not read to its end.'],
  UNSUPPORTED_MEDIA_TYPE: ['The body is not application/json in UTF-8, or it is compressed.', 'Accept-Post'],
  RATE_LIMITED: ['Over the platform limit. Nothing was done.', 'Retry-After'],
  INTERNAL_ERROR: ['A fault of the service. Its log has the cause, under the request reference.'],
  SERVICE_UNAVAILABLE: [
    'The database can’t be reached or is too slow, or too many passwords are being set at once. Nothing was changed, unless `outcome` is `unknown`.',
    'Retry-After',
  ],
}

const everyPost = Object.keys(sharedRefusals) as RefusalCode[]

/** The contract as an OpenAPI 3.1 document, made once from the schemas that the routes themselves use. */
export const openApiDocument = {
  openapi: '3.1.1',
  info: {
    title: 'Completion of authentication',
    version: '1.0.0',
    summary: 'The last step of signing in with SSO, and of a password reset.',
    description: [
      'JSON in UTF-8 both ways. No operation needs authentication: the one-time value in the body is what authorises it. Neither POST is idempotent:',
      'do not repeat one by itself after an interruption, because the first may have had its effect. Unknown fields are to be ignored on both sides.',
      `Everything but static files shares one limit of ${platformLimit.requests} requests in ${platformLimit.windowSeconds / 60} minutes for a client address (IPv6: a /64 network).`,
    ].join('\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'Where this document came from.' }],
  security: [],
  tags: [
    { name: 'Operations', description: 'What a person or a client completes.' },
    { name: 'Keys', description: 'What verifies a session.' },
    { name: 'Health', description: 'What a monitor asks.' },
  ],
  paths: {
    '/api/auth/sso/exchange': {
      post: {
        operationId: 'exchangeSsoCode',
        tags: ['Operations'],
        summary: 'Swap a one-time SSO code for a session.',
        description: [
          'Works once for each code. A code that comes back later than 10 seconds after its use ends the session it started (RFC 6749 §4.1.2),',
          'except from the browser that holds that session.',
        ].join('\n'),
        security: [],
        requestBody: requestBody('SsoExchangeRequest', { code: 'uZ3TqJ0q8cYk1m5b7Xv9WnD2sR4fG6hL0pA_eB-cKdM' }),
        responses: {
          200: success(
            'SsoExchangeAnswer',
            'The session. A browser gets it as a cookie, too.',
            {
              ok: true,
              token: 'eyJhbGci.eyJzdWIi.MEUCIQDX',
              refreshToken: 'Qm9a1dE3xK5yT7uP9wS0rF2gH4jL6zC8vB_nM-qWeRt',
            },
            ['Set-Cookie'],
          ),
          400: badRequest(
            ['SSO_EXCHANGE_INVALID', 'VALIDATION_ERROR'],
            'The code is unknown, used or expired; or the body is not what is asked for.',
            {
              code: { path: ['code'], code: 'invalid_type', message: 'This field is required.' },
              json: { path: [], code: 'invalid_json', message: 'The body is not JSON in UTF-8.' },
            },
          ),
          ...refusalsOf(...everyPost),
        },
      },
    },
    '/api/auth/reset-password': {
      post: {
        operationId: 'resetPassword',
        tags: ['Operations'],
        summary: 'Set a new password with the token of a reset e-mail.',
        description: [
          'Ends every session of the person. A password that falls short leaves the token alive: `path` of the issue tells `token` from `password`.',
          `Issues of a password: ${passwordIssueCodes.map((code) => `\`${code}\``).join(', ')}.`,
        ].join('\n'),
        security: [],
        requestBody: requestBody('ResetPasswordRequest', {
          token: 'tH5eN1kV8oJ3iX6aU0yC9zQ2wM4rS7dF_bG-lPqKxEv',
          password: 'lantern meadow otter',
        }),
        responses: {
          200: success('PlainAnswer', 'The password is changed.', { ok: true }),
          400: badRequest(
            ['VALIDATION_ERROR'],
            'The token is unknown, used or expired; or the password falls short; or the body is not what is asked for.',
            {
              token: {
                path: ['token'],
                code: 'invalid_or_expired',
                message: deadLinkMessage,
              },
              password: { path: ['password'], code: 'too_short', message: 'Use at least 8 characters.' },
            },
          ),
          ...refusalsOf(...everyPost),
        },
      },
    },
    '/.well-known/jwks.json': {
      get: {
        operationId: 'getSigningKeys',
        tags: ['Keys'],
        summary: 'The public keys of the session JWTs (RFC 7517).',
        description: 'An answer may be kept for five minutes: a key is published at least that long before it signs.',
        security: [],
        responses: {
          200: {
            description: 'Every key that may have signed a session, and the next one.',
            headers: {
              'Cache-Control': header('Five minutes.', { const: 'public, max-age=300' }),
              'Access-Control-Allow-Origin': header('Any site may read it.', { const: '*' }),
              'X-Content-Type-Options': ref('headers', 'X-Content-Type-Options'),
            },
            content: { 'application/jwk-set+json': { schema: ref('schemas', 'KeySetAnswer'), example: { keys: [exampleKey] } } },
          },
          ...refusalsOf('METHOD_NOT_ALLOWED', 'RATE_LIMITED', 'INTERNAL_ERROR'),
        },
      },
    },
    '/api/health': {
      get: {
        operationId: 'getHealth',
        tags: ['Health'],
        summary: 'The process is alive.',
        description: 'Says nothing of the database.',
        security: [],
        responses: {
          200: success('PlainAnswer', 'It is.', { ok: true }),
          ...refusalsOf('NOT_FOUND', 'METHOD_NOT_ALLOWED', 'RATE_LIMITED', 'INTERNAL_ERROR'),
        },
      },
    },
    '/api/health/ready': {
      get: {
        operationId: 'getReadiness',
        tags: ['Health'],
        summary: 'The process can serve.',
        description: 'The database answers, and has the tables.',
        security: [],
        responses: {
          200: success('PlainAnswer', 'It can.', { ok: true }),
          ...refusalsOf('NOT_FOUND', 'METHOD_NOT_ALLOWED', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'),
        },
      },
    },
  },
  components: { schemas: schemas(), headers: headerObjects, responses: sharedResponses() },
}

/** The JSON Schemas of requests and answers, by name; those of refusals under their code. */
function schemas() {
  const named = { SsoExchangeRequest, SsoExchangeAnswer, ResetPasswordRequest, PlainAnswer, PublicJwk, KeySetAnswer }
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id })
  for (const code of codes) registry.add(refusalAnswer(code), { id: code })
  const made = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` }).schemas
  return Object.fromEntries(Object.entries(made).map(([id, { $schema, $id, ...schema }]) => [id, schema]))
}

function ref(kind: 'schemas' | 'headers' | 'responses', name: string) {
  return { $ref: `#/components/${kind}/${name}` }
}

function requestBody(schema: string, example: object) {
  return {
    required: true,
    content: { 'application/json': { schema: ref('schemas', schema), example } },
    description: 'At most 16 KiB, not compressed.',
  }
}

function success(schema: string, description: string, example: object, more: string[] = []) {
  return { description, headers: headers(...more), content: { 'application/json': { schema: ref('schemas', schema), example } } }
}

/** What can be refused with 400: one code, or one of several. */
function badRequest(among: RefusalCode[], description: string, issues: Record<string, Issue>) {
  const invalid = Object.entries(issues).map(([name, issue]) => [
    name,
    { value: { ...exampleOf('VALIDATION_ERROR'), message: issue.message, issues: [issue] } },
  ])
  const others = among.filter((code) => code !== 'VALIDATION_ERROR').map((code) => [code, { value: exampleOf(code) }])
  const schema = among.length === 1 ? ref('schemas', among[0]!) : { oneOf: among.map((code) => ref('schemas', code)) }
  return { description, headers: headers(), content: { 'application/json': { schema, examples: Object.fromEntries([...others, ...invalid]) } } }
}

/** The other statuses of an operation. */
function refusalsOf(...among: RefusalCode[]) {
  return Object.fromEntries(among.map((code) => [refusals[code].status, ref('responses', code)]))
}

function sharedResponses() {
  const entries = Object.entries(sharedRefusals) as [RefusalCode, [string, ...string[]]][]
  return Object.fromEntries(
    entries.map(([code, [description, ...more]]) => {
      const content = { 'application/json': { schema: ref('schemas', code), examples: examplesOf(code) } }
      return [code, { description, headers: headers(...more), content }]
    }),
  )
}

function examplesOf(code: RefusalCode) {
  const examples = { usual: { value: exampleOf(code) } }
  if (code !== 'SERVICE_UNAVAILABLE') return examples
  return { ...examples, lost: { value: { ...exampleOf(code), message: outcomeUnknownMessage, outcome: 'unknown' } } }
}

function exampleOf(code: RefusalCode) {
  return { ok: false, code, message: refusals[code].message, requestId }
}

/** The headers of every answer, and more. */
function headers(...more: string[]) {
  return Object.fromEntries([...commonHeaders, ...more].map((name) => [name, ref('headers', name)]))
}

function header(description: string, schema: object) {
  return { description, required: true, schema: { type: 'string', ...schema } }
}
