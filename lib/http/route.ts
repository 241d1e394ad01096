import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { ApiError, type ErrorCode, errors } from '../contract/errors'
import { allowedMethods, type Operation } from '../contract/operations'
import { asUnavailable } from '../database/unavailable'
import { describeCause, log } from '../log'
import { env } from '../settings/env'
import { parseJson } from './body'
import { clientAddress } from './client-address'
import { countRequest, rateLimitHeaders } from './rate-limit/limit'

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type Handler = (request: Request) => Promise<Response>
type Handlers = Record<(typeof methods)[number], Handler>

/** A route that is no operation of the contract, such as a form of ours, has a name and a method only. */
type Described = Pick<Operation, 'name' | 'method'> & Partial<Operation>

type Call<Route extends Described> = {
  request: Request
  /** The body, checked against the schema of the operation; undefined where it has none. */
  body: Route['request'] extends z.ZodType ? z.output<Route['request']> : undefined
  /** A success. The compiler rejects a missing and an unknown field. */
  respond: (
    body: Route['response'] extends z.ZodType ? z.output<Route['response']> : never,
    headers?: HeadersInit,
  ) => Response
  addToLog: AddToLog
}

/** Adds ids of ours to the log line of the request, never text that a client sent. */
type AddToLog = (fields: { userId?: string; sessionId?: string }) => void

/** The handlers of a route: `act` for its method (for HEAD too, with GET), 405 with `Allow` for every other (RFC 9110 §15.5.6). */
export function route<Route extends Described>(
  described: Route,
  act: (call: Call<Route>) => Promise<Response>,
): Handlers {
  const allow = allowedMethods(described)
  const accept = serve(described.name, async (request, addToLog) => {
    const body = (described.request && (await parseJson(request, described.request))) as Call<Route>['body']
    const respond = (content: unknown, headers?: HeadersInit) => success(described, content, headers)
    return act({ request, body, respond, addToLog })
  })
  const reject = serve(described.name, () => Promise.reject(new ApiError('METHOD_NOT_ALLOWED')), { Allow: allow })
  return handlers((method) => (allow.split(', ').includes(method) ? accept : reject))
}

/** The handlers of a path that does not exist, or not for this client: 404 for every method. */
export function notFound(name: string): Handlers {
  const reject = serve(name, () => Promise.reject(new ApiError('NOT_FOUND')))
  return handlers(() => reject)
}

function handlers(handlerOf: (method: string) => Handler): Handlers {
  return Object.fromEntries(methods.map((method) => [method, handlerOf(method)])) as Handlers
}

function success(
  { publicSeconds, mediaType = 'application/json' }: Described,
  content: unknown,
  more?: HeadersInit,
): Response {
  const headers = new Headers(more)
  headers.set('Content-Type', mediaType)
  if (publicSeconds) {
    headers.set('Cache-Control', `public, max-age=${publicSeconds}`)
    headers.set('Access-Control-Allow-Origin', '*')
  }
  return new Response(JSON.stringify(content), { headers })
}

/**
 * Wraps what every request has in common: counts it against the platform limit, turns what `act` throws into an error of the
 * contract, sets the headers that every response has, and logs one line. `name` stands in the log in place of the path.
 */
function serve(
  name: string,
  act: (request: Request, addToLog: AddToLog) => Promise<Response>,
  errorHeaders: Record<string, string> = {},
): Handler {
  return async (request) => {
    const startedAt = performance.now()
    const requestId = requestIdOf(request)
    const verdict = await countRequest(clientAddress(request))
    const added = {}
    let response: Response
    let error: ApiError | undefined
    try {
      if (!verdict.allowed) throw new ApiError('RATE_LIMITED', { retryAfterSeconds: verdict.resetSeconds })
      response = await act(request, (fields) => Object.assign(added, fields))
    } catch (thrown) {
      error = asApiError(thrown)
      response = errorResponse(error, requestId, errorHeaders)
    }
    const headers = {
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      'X-Content-Type-Options': 'nosniff',
      ...rateLimitHeaders(verdict),
    }
    // A response that anybody may cache says nothing about one request.
    const isPublic = response.headers.get('cache-control')?.startsWith('public')
    if (!isPublic) for (const [header, value] of Object.entries(headers)) response.headers.set(header, value)

    const line = {
      requestId,
      method: methodOf(request),
      route: name,
      status: response.status,
      code: error?.code,
      durationMs: Math.round(performance.now() - startedAt),
      ...added,
    }
    if (response.status >= 500) log.error({ ...line, cause: describeCause(error?.cause) })
    else log.info(line)
    return response
  }
}

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  return asUnavailable(thrown) ?? new ApiError('INTERNAL_ERROR', { cause: thrown })
}

const headersOf: Partial<Record<ErrorCode, Record<string, string>>> = {
  PAYLOAD_TOO_LARGE: { Connection: 'close' }, // so that the rest of the body is not read
  UNSUPPORTED_MEDIA_TYPE: { 'Accept-Post': 'application/json' },
}

function errorResponse(error: ApiError, requestId: string, routeHeaders: Record<string, string>): Response {
  const { code, message, issues, outcome, retryAfterSeconds } = error
  const headers = {
    ...(code === 'METHOD_NOT_ALLOWED' && routeHeaders),
    ...headersOf[code],
    ...(retryAfterSeconds && { 'Retry-After': String(retryAfterSeconds) }),
  }
  return Response.json(
    { ok: false, code, message, requestId, issues, outcome },
    { status: errors[code].status, headers },
  )
}

/** A client's own request ID is kept where it is harmless in a log and too short to be one of our secrets. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id')
  return given && /^[\w.-]{8,40}$/.test(given) ? given : randomUUID()
}

/** The method that the client sent: bin/server/request.mjs replaces unknown ones. On Vercel, the header would be the client's own. */
function methodOf({ headers, method }: Request): string {
  return (!env().VERCEL && headers.get('x-original-method')) || method
}
