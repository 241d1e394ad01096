import type * as z from 'zod'
import type { Caller } from '../contract/caller'
import type { Check } from '../contract/checks'
import {
  ApiError,
  type ErrorCode,
  errors,
  oauthErrorName,
  retrySeconds,
} from '../contract/errors'
import { allowedMethods, type Operation } from '../contract/operations'
import { asUnavailable } from '../database/errors'
import { type Origin, withOrigin } from '../event/origin'
import { describeCause, log } from '../log/log'
import { withRequestId } from '../log/request-context'
import type { SignInLine } from '../log/telemetry'
import type { Directory } from '../scim/token'
import { env } from '../settings/env'
import { toBlock } from './address'
import { parseForm, parseJson } from './body'
import { readCaller } from './caller'
import {
  countRequest,
  directoryLimit,
  rateLimitHeaders,
  type Verdict,
} from './rate-limit/limit'
import { readRequestId } from './request-id'
import { isCrossSite, rejectCrossSite } from './same-origin'

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type Context = { params: Promise<object> } | undefined
type Handler = (request: Request, context?: Context) => Promise<Response>
type Handlers = Record<(typeof methods)[number], Handler>

type Presented = { sessionId: string } | { clientId: string } | Directory

/**
 * A route outside the contract, such as the target of a form, has only a name and a
 * method.
 */
type Definition = Pick<Operation, 'name' | 'method'> &
  Partial<Operation> & {
    /**
     * Returns the session of the token in a request, or the client or directory that has
     * authenticated, or null. It must verify them, because the request is then counted by
     * session, client or token, not by IP address.
     */
    readPresented?: (request: Request, body: any) => Promise<Presented | null>
    /** The methods of a path that has several. */
    methods?: readonly string[]
    /** Returns an error in the format of another protocol, except that of a missing path. */
    formatError?: (status: number, message: string) => { body: object; mediaType: string }
  }

type Body<Route extends Definition> = Route['request'] extends z.ZodType
  ? z.output<Route['request']>
  : undefined

type Call<Route extends Definition> = {
  request: Request
  caller: Caller
  requestId: string
  params: Record<string, string>
  body: Body<Route>
  /** The result of `readPresented`. */
  presented: Awaited<ReturnType<NonNullable<Route['readPresented']>>>
  /** Creates the success response. The compiler checks the fields of the body. */
  respond: (
    body: Route['response'] extends z.ZodType ? z.output<Route['response']> : object,
  ) => Response
  /** Adds `Set-Cookie` values to the response, even if it is an error. */
  setCookies: (values: string[]) => void
  addToLog: AddToLog
}

/**
 * Adds fields to the log line of the request. Pass only our own IDs and codes, never text
 * from a client.
 */
export type AddToLog = (
  fields: Partial<
    Record<
      | 'userId'
      | 'sessionId'
      | 'factor'
      | 'connection'
      | 'widget'
      | 'client'
      | 'grant'
      | 'scim'
      | 'setup'
      | 'check'
      | 'advice',
      string
    >
  > & { try?: true },
) => void

/** A route, its operation, and whether a request may use it. */
type Served<Route extends Definition> = {
  definition: Route
  allowed: string[] // methods
  handle: (call: Call<Route>) => Promise<Response>
  isAvailable: (request: Request) => boolean
}

/** Returns the origin of the events of a request. Reads a member when it is used. */
function describeOrigin(caller: Caller, requestId: string): Origin {
  return {
    actor: 'user',
    requestId,
    get device() {
      return caller.device
    },
    get network() {
      return toBlock(caller.address)
    },
  }
}

function listMethods(definition: Definition): string[] {
  return [...(definition.methods ?? allowedMethods(definition).split(', '))]
}

/**
 * Returns the handlers of a route. A handler counts the request, converts errors, sets
 * headers and logs one line.
 */
export function route<Route extends Definition>(
  definition: Route,
  handle: (call: Call<Route>) => Promise<Response>,
  isAvailable: (request: Request) => boolean = () =>
    !definition.setting || Boolean(env()[definition.setting]),
): Handlers {
  const allowed = listMethods(definition)
  const served = { definition, allowed, handle, isAvailable }
  const handler: Handler = (request, context) => {
    const requestId = readRequestId(request.headers)
    const caller = readCaller(request)
    const work = () => serve(served, request, { caller, requestId }, context)
    return withRequestId(requestId, () =>
      withOrigin(() => describeOrigin(caller, requestId), work),
    )
  }

  // Not counted, because a page can't read a 429 response to a preflight.
  const headers = {
    ...preflightHeaders,
    'Access-Control-Allow-Methods': allowed
      .filter((method) => method !== 'OPTIONS')
      .join(', '),
  }
  const preflight: Handler = async (request, context) =>
    isAvailable(request)
      ? new Response(null, { status: 204, headers })
      : handler(request, context)

  const handlers = Object.fromEntries(
    methods.map((method) => [method, handler]),
  ) as Handlers

  return definition.crossOrigin ? { ...handlers, OPTIONS: preflight } : handlers
}

async function serve<Route extends Definition>(
  served: Served<Route>,
  request: Request,
  { caller, requestId }: { caller: Caller; requestId: string },
  context: Context,
): Promise<Response> {
  const { definition } = served
  const { crossOrigin, publicSeconds } = definition
  if (!crossOrigin && !publicSeconds && isCrossSite(request.headers))
    return rejectCrossSite()

  const startedAt = performance.now()
  const { body, presented } = await readPresented(served, request)

  const counter = presented
    ? presentedCounter(presented)
    : addressCounter(caller, definition)
  const isDirectory = presented !== null && 'tokenId' in presented
  const verdict = await (isDirectory
    ? countRequest(counter, directoryLimit)
    : countRequest(counter))

  const added: Parameters<AddToLog>[0] = {}
  const cookies: string[] = []

  const { response, error } = await answer(served, verdict, context, body, {
    request,
    caller,
    requestId,
    presented: presented as Call<Route>['presented'],
    respond: (content) => success(definition, content),
    setCookies: (values) => cookies.push(...values),
    addToLog: (fields) => Object.assign(added, fields),
  })

  addHeaders(response, {
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
    ...rateLimitHeaders(verdict),
    ...(crossOrigin && makeReadable(request, response)),
    ...(definition.oauth && { Pragma: 'no-cache' }), // RFC 6749 §5.1
  })
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)

  writeLine(request, response, error, {
    requestId,
    route: definition.name,
    durationMs: Math.round(performance.now() - startedAt),
    ...added,
  })

  return response
}

/**
 * Returns what `readPresented` of the route returns, before the request is counted. It can
 * be in the body, so the body is returned too if it was read.
 */
async function readPresented<Route extends Definition>(
  { definition, allowed, isAvailable }: Served<Route>,
  request: Request,
): Promise<{
  body: Promise<Body<Route>> | null
  presented: Presented | null
}> {
  const read = definition.readPresented
  if (!read || !allowed.includes(request.method) || !isAvailable(request))
    return { body: null, presented: null }

  const body = readBody(definition, request)
  // the route throws an error of these, after the request is counted
  const presented = await body.then((parsed) => read(request, parsed)).catch(() => null)

  return { body, presented }
}

/** Runs the operation. Returns its response, or that of an error. */
async function answer<Route extends Definition>(
  { definition, allowed, handle, isAvailable }: Served<Route>,
  verdict: Verdict,
  context: Context,
  body: Promise<Body<Route>> | null,
  call: Omit<Call<Route>, 'params' | 'body'>,
): Promise<{ response: Response; error: ApiError | null }> {
  const { request, presented } = call

  try {
    if (!verdict.allowed)
      throw new ApiError('RATE_LIMITED', {
        retryAfterSeconds: verdict.resetSeconds,
        check: limitCheck(presented),
      })
    if (!isAvailable(request)) throw notFound(definition)
    if (!allowed.includes(request.method))
      throw new ApiError('METHOD_NOT_ALLOWED', { check: 'method' }) // RFC 9110 §15.5.6

    const response = await handle({
      ...call,
      params: { ...(await context?.params) },
      body: await (body ?? readBody(definition, request)),
    })

    return { response, error: null }
  } catch (thrown) {
    const error = toApiError(thrown)
    return { response: errorResponse(error, call, definition), error }
  }
}

function notFound({ name }: Definition): ApiError {
  const isUnknown = name === 'unknown' // the route of all other paths
  return new ApiError('NOT_FOUND', { check: isUnknown ? 'path_unknown' : 'switched_off' })
}

async function readBody<Route extends Definition>(
  { request: schema, form }: Route,
  request: Request,
): Promise<Body<Route>> {
  const parse = form ? parseForm : parseJson
  return (schema && (await parse(request, schema))) as Body<Route>
}

/** Returns the key of the counter of a session, a client, or the token of a directory. */
function presentedCounter(presented: Presented): string {
  if ('tokenId' in presented) return `directory ${presented.tokenId}`
  return 'clientId' in presented
    ? `client ${presented.clientId}`
    : `session ${presented.sessionId}`
}

/** Returns which limit a request has exceeded, for the log. */
function limitCheck(presented: Presented | null): Check {
  if (!presented) return 'client_requests'
  if ('tokenId' in presented) return 'directory_requests'
  return 'clientId' in presented ? 'client_codes' : 'session_requests'
}

/** Returns the key of the counter for a request without a valid token. */
function addressCounter({ address }: Caller, { name, crossOrigin }: Definition): string {
  // Counted separately, so that pages of other sites can't use up the rate limit of their
  // visitors.
  return crossOrigin ? `${name} ${address}` : address
}

/** Adds headers, unless a cache may store the response: they are about one request. */
function addHeaders(response: Response, headers: Record<string, string>): void {
  const isPublic = response.headers.get('cache-control')?.startsWith('public')
  if (isPublic) return

  for (const [header, value] of Object.entries(headers))
    response.headers.set(header, value)
}

/** Writes the log line of a request, and counts it if it is a step of a sign-in. */
function writeLine(
  { method }: Request,
  { status }: Response,
  error: ApiError | null,
  fields: { requestId: string; route: string; durationMs: number } & Partial<SignInLine>,
): void {
  const { requestId, route, durationMs, ...added } = fields
  const line = {
    requestId,
    method,
    route,
    status,
    code: error?.code,
    check: error?.details.check ?? error?.details.issues?.[0]?.code,
    durationMs,
    ...added,
  }

  // 501 is no fault: a directory wants something that this service does not have
  if (status < 500 || status === 501) log.info(line)
  else log.error({ ...line, cause: error?.cause && describeCause(error.cause) })

  globalThis.metrics?.countSignIn(line)
}

/** Headers for other sites. Every page can read an error. */
const crossOriginHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy',
  Vary: 'Origin',
}
const preflightHeaders = {
  ...crossOriginHeaders,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type',
  'Access-Control-Max-Age': '7200',
  'Cache-Control': 'no-store',
}

/** Returns the headers for other sites. Only the page's origin can read a success. */
function makeReadable(request: Request, response: Response): Record<string, string> {
  const origin = response.ok ? request.headers.get('origin') : null
  return origin
    ? { ...crossOriginHeaders, 'Access-Control-Allow-Origin': origin }
    : crossOriginHeaders
}

function success(
  { publicSeconds, mediaType = 'application/json' }: Definition,
  content: unknown,
): Response {
  const cacheControl = `public, max-age=${publicSeconds}`
  const publicHeaders = publicSeconds && {
    'Cache-Control': cacheControl,
    'Access-Control-Allow-Origin': '*',
  }

  return Response.json(content, {
    headers: { 'Content-Type': mediaType, ...publicHeaders },
  })
}

/**
 * Redirects with 303, so that browsers do not send the body again. The next site receives
 * no referrer.
 */
export function seeOther(location: string): Response {
  return new Response(null, {
    status: 303,
    headers: { Location: location, 'Referrer-Policy': 'no-referrer' },
  })
}

const errorHeaders: Partial<Record<ErrorCode, Record<string, string>>> = {
  UNSUPPORTED_MEDIA_TYPE: { 'Accept-Post': 'application/json' },
  SESSION_INVALID: { 'WWW-Authenticate': 'Bearer' }, // RFC 9110 §11.6.1
  CLIENT_INVALID: { 'WWW-Authenticate': 'Basic realm="OpenID clients"' }, // RFC 6749 §5.2
  SERVICE_UNAVAILABLE: { 'Retry-After': String(retrySeconds) },
}

/** Returns the error to respond with, for anything that was thrown. */
function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  return asUnavailable(thrown) ?? new ApiError('INTERNAL_ERROR', { cause: thrown })
}

function errorResponse(
  error: ApiError,
  { request, requestId }: { request: Request; requestId: string },
  definition: Definition,
): Response {
  const { code, message, details } = error
  const { issues, outcome, challenge, retryAfterSeconds } = details
  const headers: Record<string, string> = {
    ...(code === 'METHOD_NOT_ALLOWED' && { Allow: listMethods(definition).join(', ') }),
    ...errorHeaders[code],
    ...(code === 'PAYLOAD_TOO_LARGE' && !isDiscarded(request) && { Connection: 'close' }),
    ...(definition.form && acceptForm[code]),
    ...(isInvalidToken(error, definition) && invalidTokenHeaders),
    ...(retryAfterSeconds && { 'Retry-After': String(retryAfterSeconds) }),
  }

  const { formatError } = definition
  if (formatError && code !== 'NOT_FOUND') {
    const { body, mediaType } = formatError(errors[code].status, message)
    headers['Content-Type'] = mediaType
    return Response.json(body, { status: errors[code].status, headers })
  }

  const body = isOAuthError(error, definition)
    ? { error: oauthErrorName(code), error_description: message, requestId, outcome }
    : { ok: false, code, message, requestId, issues, outcome, ...challenge }

  return Response.json(body, { status: errors[code].status, headers })
}

/** Larger bodies are not read to their end, and their connection is closed. */
const maxDiscardedBytes = 1024 * 1024

/**
 * Whether the server reads the rest of a body that is too large. Otherwise, Apache and
 * Caddy respond with 502 if the connection closes while they send the body.
 */
function isDiscarded({ headers }: Request): boolean {
  const bytes = Number(headers.get('content-length'))
  return bytes > 0 && bytes <= maxDiscardedBytes
}

const acceptForm: Partial<Record<ErrorCode, Record<string, string>>> = {
  UNSUPPORTED_MEDIA_TYPE: { 'Accept-Post': 'application/x-www-form-urlencoded' },
}

/** Whether an error has the format of OAuth. Without the setting, there is no endpoint. */
function isOAuthError({ code }: ApiError, { oauth }: Definition): boolean {
  return Boolean(oauth) && code !== 'NOT_FOUND'
}

const invalidTokenHeaders = { 'WWW-Authenticate': 'Bearer error="invalid_token"' }

/** Whether the request had a token that was rejected (RFC 6750 §3.1). */
function isInvalidToken({ code, details }: ApiError, { oauth }: Definition): boolean {
  return Boolean(oauth) && code === 'SESSION_INVALID' && details.check !== 'token_missing'
}
