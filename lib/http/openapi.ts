import * as z from 'zod'
import {
  type ErrorCode,
  errors,
  type Issue,
  oauthErrorName,
  outcomeUnknownMessage,
} from '../contract/errors'
import {
  allowedMethods,
  listErrors,
  type Operation,
  operations,
} from '../contract/operations'
import * as schemaModule from '../contract/schemas'
import { windowSeconds } from './rate-limit/limit'

/**
 * The named JSON Schemas of requests, responses and errors. The name of an error's schema
 * is its code.
 */
const registry = z.registry<{ id: string }>()
for (const [id, schema] of Object.entries(schemaModule))
  if (schema instanceof z.ZodType) registry.add(schema, { id })

/** The codes of operations whose errors do not have the format of OAuth. */
const codes = [
  ...new Set(
    Object.values<Operation>(operations)
      .filter(({ oauth }) => !oauth)
      .flatMap(listErrors),
  ),
]
for (const code of codes) registry.add(schemaModule.errorSchema(code), { id: code })

export const usualHeaders = [
  'Cache-Control',
  'X-Request-Id',
  'X-Content-Type-Options',
  'RateLimit-Policy',
  'RateLimit',
]

const headerObjects = {
  'Cache-Control': describeHeader('Never cached.', { const: 'no-store' }),
  'X-Request-Id': describeHeader(
    'Identifies the request in the log. The ID of the client if it has this format, or a new one.',
    {
      pattern: '^[\\w.-]{8,40}$',
    },
  ),
  'X-Content-Type-Options': describeHeader('The body is what Content-Type says.', {
    const: 'nosniff',
  }),
  'RateLimit-Policy': describeHeader(
    'The platform limit (draft-ietf-httpapi-ratelimit-headers-10): requests (q), which is\n' +
      '`RATE_LIMIT_REQUESTS`, in a window of seconds (w).',
    {
      pattern: `^"platform";q=[1-9]\\d*;w=${windowSeconds}$`,
    },
  ),
  RateLimit: describeHeader(
    'Requests remaining (r) of the limit against which the request counted; seconds until\n' +
      'the window resets (t).',
    {
      pattern: '^"platform";r=\\d+;t=\\d+$',
    },
  ),
  Pragma: describeHeader('For caches of HTTP/1.0 (RFC 6749 §5.1).', {
    const: 'no-cache',
  }),
  'Retry-After': describeHeader('Seconds.', { pattern: '^[1-9]\\d*$' }),
  Allow: describeHeader('The methods that the path accepts (RFC 9110 §15.5.6).', {
    enum: [...new Set(Object.values<Operation>(operations).map(allowedMethods))],
  }),
  'Accept-Post': describeHeader('The media type that the path accepts.', {
    enum: ['application/json', 'application/x-www-form-urlencoded'],
  }),
  'WWW-Authenticate': describeHeader('How to authenticate (RFC 6750 §3, RFC 7617).', {
    enum: ['Bearer', 'Bearer error="invalid_token"', 'Basic realm="OpenID clients"'],
  }),
  'Set-Cookie': describeHeader(
    'Two cookies that no script can read: the session JWT and the refresh token. Over https, their names are\n' +
      '`__Host-session` and `__Host-refresh`. On http://localhost, they are `session` and `refresh`. After a\n' +
      'sign-in with a password or a passkey, a third cookie (`__Host-known` or `known`) gives the browser its own attempts for\n' +
      'this account. If the user has a second factor, the cookie `__Host-challenge` or `challenge` contains the\n' +
      'challenge. While a second factor is set up, the cookie `__Host-enrolment` or `enrolment` contains the\n' +
      'enrolment.',
    {
      pattern: `${makeCookiePattern('[^;]+', '[1-9]\\d*', 'session|refresh|known|challenge|enrolment')}|${makeCookiePattern('', '0', 'challenge|enrolment')}`,
    },
  ),
}

/** The headers of every response of an operation that pages of other sites call. */
const crossOriginHeaders = {
  'Access-Control-Allow-Origin': describeHeader(
    'The origin of the page after a success; `*` for an error.',
    {},
  ),
  'Access-Control-Expose-Headers': describeHeader('What a script may read.', {
    const: 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy',
  }),
}

const exampleRequestId = '7f3c9f0e-8a55-4d8e-9d0a-0f2c6b1f9e11'

const deletes = {
  'Set-Cookie': describeHeader('Two fields, which delete both cookies.', {
    pattern: makeCookiePattern('', '0'),
  }),
}

function makeCookiePattern(
  value: string,
  seconds: string,
  names = 'session|refresh',
): string {
  return `^(__Host-)?(${names})=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax(; Secure)?$`
}

/** The headers that only some errors have. */
const errorHeaders: Partial<Record<ErrorCode, string>> = {
  METHOD_NOT_ALLOWED: 'Allow',
  UNSUPPORTED_MEDIA_TYPE: 'Accept-Post',
  RATE_LIMITED: 'Retry-After',
  SECOND_FACTOR_REQUIRED: 'Set-Cookie',
  SESSION_INVALID: 'WWW-Authenticate',
  CLIENT_INVALID: 'WWW-Authenticate',
  SERVICE_UNAVAILABLE: 'Retry-After',
}

// An operation describes its own 400, which several codes can share. ORIGIN_REJECTED is
// described at the only operation that returns it.
const sharedCodes = codes.filter(
  (code) => errors[code].status !== 400 && code !== 'ORIGIN_REJECTED',
)

/** The additional fields in the examples of some errors. */
const moreExamples: Partial<Record<ErrorCode, object>> = {
  SECOND_FACTOR_INVALID: {
    issues: [{ path: ['code'], code: 'wrong_code', message: 'This code is wrong.' }],
  },
  SECOND_FACTOR_REQUIRED: {
    challenge: operations.signInSecondFactor.requestExample.challenge,
    expiresAt: '2026-11-22T08:10:00.000Z',
    methods: ['totp', 'recovery-code'],
  },
}

export type ResponseObject = {
  $ref?: string
  description?: string
  headers?: Record<string, { $ref?: string; description?: string }>
}

/** What applies to all operations, by topic. */
export const introduction = {
  Format:
    'Requests and responses are JSON in UTF-8. Unknown fields in a request are ignored. Ignore unknown\n' +
    'fields in a response.',
  Authorization:
    'The one-time value in a body authorizes its operation. A session JWT is sent as a Bearer token or in\n' +
    'the cookies of the browser.',
  Retries:
    'The exchange and the reset are not idempotent: never retry them automatically after a dropped\n' +
    'connection. docs/api.md in the repository has the rules of retries, the limits, and the claims of the\n' +
    'session JWT.',
}

/**
 * The contract as an OpenAPI 3.1 document, generated from the operations and schemas that
 * the routes use.
 */
export const openApiDocument = {
  openapi: '3.1.1',
  info: {
    title: 'Authentication completion',
    version: '1.0.0',
    summary: 'Completes SSO sign-in and password reset.',
    description: Object.values(introduction).join('\n\n'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'The origin of this document.' }],
  security: [],
  tags: [
    { name: 'Operations', description: 'Complete a sign-in or a password reset.' },
    { name: 'Sessions', description: 'Renew, inspect and end a session.' },
    {
      name: 'Second factor',
      description: 'An authenticator app (TOTP) for sign-ins with a password.',
    },
    {
      name: 'Passkeys',
      description: 'Sign in with a passkey (WebAuthn), and manage passkeys.',
    },
    {
      name: 'OpenID Connect',
      description: 'Sign users in to dashboards on other hosts.',
    },
    { name: 'Widgets', description: 'Let pages of approved origins use a widget.' },
    { name: 'Keys', description: 'Verify a session, a widget JWT or an ID token.' },
    { name: 'Health', description: 'Monitor the service.' },
  ],
  paths: Object.fromEntries(
    Object.entries(operations).map(([id, operation]) => [
      operation.path,
      describePath(id, operation),
    ]),
  ) as Record<string, Record<string, { responses: Record<string, ResponseObject> }>>,
  components: {
    schemas: generateSchemas(),
    headers: headerObjects,
    responses: Object.fromEntries(
      sharedCodes.map((code) => [code, describeSharedError(code)]),
    ),
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'The session JWT.',
      },
      cookie: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-session',
        description: 'Set by the exchange. On http://localhost the name is `session`.',
      },
    },
  },
}

function describePath(operationId: string, operation: Operation) {
  const { method, tag, summary, description, request, requestExample, session } =
    operation
  const mediaType = operation.form
    ? 'application/x-www-form-urlencoded'
    : 'application/json'
  const requestBody = request && {
    required: true,
    content: {
      [mediaType]: {
        schema: referTo('schemas', registry.get(request)!.id),
        example: requestExample,
      },
    },
    description: 'At most 16 KiB, uncompressed.',
  }

  const responses: Record<string, object> = {
    200: describeSuccess(operation),
    ...describeErrors(operation),
  }

  const credentials = session ? [{ bearer: [] }, { cookie: [] }] : []
  const security = session === 'optional' ? [...credentials, {}] : credentials

  const described = {
    tags: [tag],
    summary,
    description,
    security,
    requestBody,
    responses,
  }

  return {
    [method.toLowerCase()]: { operationId, ...described },
    ...(operation.alsoPost && {
      post: { operationId: `${operationId}ByPost`, ...described },
    }),
  }
}

function describeSuccess(operation: Operation) {
  const {
    response,
    responseDescription,
    responseExample,
    cookies,
    publicSeconds,
    mediaType,
    crossOrigin,
  } = operation

  const headers = publicSeconds
    ? {
        'Cache-Control': describeHeader('May be cached.', {
          const: `public, max-age=${publicSeconds}`,
        }),
        'Access-Control-Allow-Origin': describeHeader('Any site may read it.', {
          const: '*',
        }),
        'X-Content-Type-Options': referTo('headers', 'X-Content-Type-Options'),
      }
    : {
        ...referToHeaders(...(cookies === 'sets' ? ['Set-Cookie'] : [])),
        ...(cookies === 'deletes' && deletes),
        ...(crossOrigin && crossOriginHeaders),
        ...(operation.oauth && { Pragma: referTo('headers', 'Pragma') }),
      }

  const content = {
    schema: referTo('schemas', registry.get(response)!.id),
    example: responseExample,
  }

  return {
    description: responseDescription,
    headers,
    content: { [mediaType ?? 'application/json']: content },
  }
}

/** Returns the error responses of an operation by status, which several codes can share. */
export function describeErrors(operation: Operation): Record<string, object> {
  const codes = listErrors(operation)
  const statuses = new Set(codes.map((code) => errors[code].status))

  const responses = [...statuses].map((status) => {
    const sharing = codes.filter((code) => errors[code].status === status)
    return [status, describeError(sharing, operation)]
  })

  return Object.fromEntries(responses)
}

/**
 * Describes the response for error codes with the same status. An operation that deletes
 * cookies deletes them with a 5xx error too.
 */
function describeError(codes: ErrorCode[], operation: Operation) {
  const [code, ...others] = codes as [ErrorCode, ...ErrorCode[]]
  const { status } = errors[code]
  if (operation.oauth && code !== 'NOT_FOUND') return describeOAuthError(codes)
  if (status === 400) return describeBadRequest(codes, operation)

  const { cookies, crossOrigin } = operation
  const pragma = operation.oauth && { Pragma: referTo('headers', 'Pragma') }
  const own = crossOrigin
    ? { ...crossOriginHeaders, ...pragma }
    : cookies === 'deletes' && status >= 500 && deletes
  if (!own && others.length === 0) return referTo('responses', code)

  const response =
    others.length === 0 ? describeSharedError(code) : describeSharedStatus(codes)

  return { ...response, headers: { ...response.headers, ...own } }
}

/** Describes the response of an operation for OpenID clients (RFC 6749 §5.2). */
function describeOAuthError(codes: ErrorCode[]) {
  const examples = codes.map((code) => [
    code,
    {
      value: {
        error: oauthErrorName(code),
        error_description: errors[code].message,
        requestId: exampleRequestId,
      },
    },
  ])
  const content = {
    'application/json': {
      schema: referTo('schemas', 'OAuthErrorResponse'),
      examples: Object.fromEntries(examples),
    },
  }
  const headers = {
    ...referToHeaders('Pragma', ...ownHeaderNames(codes)),
    ...crossOriginHeaders,
  }

  return { description: joinDescriptions(codes), headers, content }
}

/** Describes the 400 of an operation, which several error codes can share. */
function describeBadRequest(codes: ErrorCode[], operation: Operation) {
  const { issueExamples = {}, crossOrigin } = operation

  const json: Issue = {
    path: [],
    code: 'invalid_json',
    message: 'The body is not JSON in UTF-8.',
  }

  const invalid = Object.entries({ json, ...issueExamples }).map(([name, issue]) => [
    name,
    makeErrorExample('VALIDATION_ERROR', { message: issue.message, issues: [issue] }),
  ])

  const others = codes
    .filter((code) => code !== 'VALIDATION_ERROR')
    .map((code) => [code, makeErrorExample(code)])
  const content = {
    'application/json': {
      schema: referToSchemas(codes),
      examples: Object.fromEntries([...others, ...invalid]),
    },
  }
  const headers = { ...referToHeaders(), ...(crossOrigin && crossOriginHeaders) }

  return { description: joinDescriptions(codes), headers, content }
}

/**
 * Describes the response for several error codes. A header that only some of them have
 * is not required.
 */
function describeSharedStatus(codes: ErrorCode[]) {
  const ownHeaders = codes.flatMap((code) => {
    const name = errorHeaders[code] as keyof typeof headerObjects | undefined
    return name ? [[name, { ...headerObjects[name], required: false }]] : []
  })

  const examples = codes.flatMap((code) => {
    const { usual, ...others } = makeErrorExamples(code)
    return Object.entries({ [code]: usual, ...others })
  })

  const content = {
    'application/json': {
      schema: referToSchemas(codes),
      examples: Object.fromEntries(examples),
    },
  }

  return {
    description: joinDescriptions(codes),
    headers: { ...referToHeaders(), ...Object.fromEntries(ownHeaders) },
    content,
  }
}

function referToSchemas(codes: ErrorCode[]) {
  const refs = codes.map((code) => referTo('schemas', code))
  return refs.length > 1 ? { oneOf: refs } : refs[0]
}

function joinDescriptions(codes: ErrorCode[]): string {
  return codes.map((code) => errors[code].description).join(' ')
}

function generateSchemas() {
  const generated = z.toJSONSchema(registry, {
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  }).schemas
  return Object.fromEntries(
    Object.entries(generated).map(([id, { $schema, $id, ...schema }]) => [id, schema]),
  )
}

function describeSharedError(code: ErrorCode) {
  const own = errorHeaders[code]
  const content = {
    'application/json': {
      schema: referTo('schemas', code),
      examples: makeErrorExamples(code),
    },
  }

  return {
    description: errors[code].description,
    headers: referToHeaders(...(own ? [own] : [])),
    content,
  }
}

function makeErrorExamples(code: ErrorCode) {
  const unknown = makeErrorExample(code, {
    message: outcomeUnknownMessage,
    outcome: 'unknown',
  })

  return {
    usual: makeErrorExample(code),
    ...(code === 'SERVICE_UNAVAILABLE' && { unknown }),
  }
}

function makeErrorExample(
  code: ErrorCode,
  more: object | undefined = moreExamples[code],
) {
  const common = { message: errors[code].message, requestId: exampleRequestId }
  return { value: { ok: false, code, ...common, ...more } }
}

function referToHeaders(...more: string[]) {
  return Object.fromEntries(
    [...usualHeaders, ...more].map((name) => [name, referTo('headers', name)]),
  )
}

/** Returns the names of the headers that only some errors have. */
function ownHeaderNames(codes: ErrorCode[]): string[] {
  return codes.flatMap((code) => errorHeaders[code] ?? [])
}

function referTo(kind: 'schemas' | 'headers' | 'responses', name: string) {
  return { $ref: `#/components/${kind}/${name}` }
}

function describeHeader(description: string, schema: object) {
  return { description, required: true, schema: { type: 'string', ...schema } }
}
