import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { clientAddress } from './client-address'
import { databaseTrouble } from './database-trouble'
import { type Issue, Refusal, refusals } from './errors'
import { describeCause, log } from './log'
import { countRequest, rateLimitHeaders } from './rate-limit'

const maxBodyBytes = 16 * 1024
const bodyArrivesMs = 10_000

type Handler = (request: Request) => Promise<Response>

/** What a route may add to its log line: ids of ours, never text that a client sent. */
type LogFields = { userId?: string; sessionId?: string }
type LoggingHandler = (request: Request, addToLog: (fields: LogFields) => void) => Promise<Response>

/**
 * Makes a route of a function: counts the request against the platform limit, turns what it throws into an error of the
 * contract, sets the headers of every response that is not public, and logs one line with the fields that the function adds. `route` is the name in
 * the log, so that no path from outside gets there.
 */
export function apiRoute(route: string, act: LoggingHandler): Handler {
  return async (request) => {
    const startedAt = performance.now()
    const requestId = requestReference(request)
    const verdict = await countRequest(clientAddress(request))
    let answer: Response
    let refusal: Refusal | undefined
    const added: LogFields = {}
    try {
      if (!verdict.allowed) throw new Refusal('RATE_LIMITED', { headers: { 'Retry-After': String(verdict.resetSeconds) } })
      answer = await act(request, (fields) => Object.assign(added, fields))
    } catch (error) {
      refusal = error instanceof Refusal ? error : (databaseTrouble(error) ?? new Refusal('INTERNAL_ERROR', { cause: error }))
      answer = refusalAnswer(refusal, requestId)
    }
    const headers = { 'Cache-Control': 'no-store', 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff', ...rateLimitHeaders(verdict) }
    // What anybody may cache says nothing about one request.
    const cacheable = answer.headers.get('cache-control')?.startsWith('public')
    if (!cacheable) for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value)

    const line = {
      requestId,
      method: request.method,
      route,
      status: answer.status,
      code: refusal?.code,
      durationMs: Math.round(performance.now() - startedAt),
      ...added,
    }
    const cause = refusal?.details.cause && describeCause(refusal.details.cause)
    if (answer.status >= 500) log.error({ ...line, cause })
    else log.info(line)
    return answer
  }
}

/** The handlers of a route for every method that it does not take: 405 with `Allow` (RFC 9110 §15.5.6). */
export function methodNotAllowed(route: string, allow: string): Handler {
  return apiRoute(route, async () => {
    throw new Refusal('METHOD_NOT_ALLOWED', { headers: { Allow: allow } })
  })
}

/** Reads a JSON body of at most 16 KiB against a schema. Refuses with 413, 415, or VALIDATION_ERROR that lists every field at fault, without its value. */
export async function parseJson<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  const [mediaType, ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  const readable = mediaType?.trim() === 'application/json' && (!charset || /^charset="?utf-?8"?$/.test(charset))
  if (!readable || request.headers.has('content-encoding')) {
    throw new Refusal('UNSUPPORTED_MEDIA_TYPE', { headers: { 'Accept-Post': 'application/json' } })
  }
  const parsed = schema.safeParse(parseText(await readBody(request)))
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(({ path, code, message }) => ({ path: path as Issue['path'], code, message }))
  throw new Refusal('VALIDATION_ERROR', { message: 'The body is not the object that is asked for.', issues })
}

async function readBody(request: Request): Promise<Uint8Array> {
  const tooLarge = () => new Refusal('PAYLOAD_TOO_LARGE', { headers: { Connection: 'close' } }) // so that the rest is not read
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw tooLarge()
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let late = false
  const timer = setTimeout(() => {
    late = true
    reader.cancel().catch(() => {}) // ends the read that is waiting
  }, bodyArrivesMs)
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.byteLength
      if (bytes > maxBodyBytes) throw tooLarge()
      chunks.push(part.value)
    }
  } catch (error) {
    throw error instanceof Refusal ? error : notJson('The body did not arrive whole.')
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
  if (late) throw notJson(`The body did not arrive within ${bodyArrivesMs / 1000} seconds.`)
  return Buffer.concat(chunks)
}

function parseText(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw notJson('The body is not JSON in UTF-8.')
  }
}

function notJson(message: string): Refusal {
  return new Refusal('VALIDATION_ERROR', { issues: [{ path: [], code: 'invalid_json', message }] })
}

function refusalAnswer({ code, message, details: { issues, outcome, headers } }: Refusal, requestId: string): Response {
  return Response.json({ ok: false, code, message, requestId, issues, outcome }, { status: refusals[code].status, headers })
}

/** A reference from outside is kept where it is harmless, and too short to be one of our secrets. */
function requestReference(request: Request): string {
  const given = request.headers.get('x-request-id')
  return given && /^[\w.-]{8,40}$/.test(given) ? given : randomUUID()
}
