import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'

const maxInterimResponses = 10

/** A response that is not read: larger than its caller allows, after many interim ones, or compressed. */
export class ResponseRejected extends Error {
  override name = 'ResponseRejected'
  constructor(readonly reason: 'size' | 'encoding') {
    super(reason === 'size' ? 'The response is too large.' : 'The response is compressed.')
  }
}

export type FetchOptions = {
  method?: string
  headers?: HeadersInit
  body?: string | URLSearchParams
  signal: AbortSignal
  /** Keeps the connection for the next request. What the service sends meanwhile is read, without a limit. */
  keepAlive?: boolean
  /** Finds the addresses of the host. The system’s resolver, if not given. */
  lookup?: LookupFunction
}

/**
 * Sends a request, and reads an uncompressed response of at most `maxBytes`. Follows no redirects.
 * Throws ResponseRejected, the reason of `signal`, or an error of node:http. Not `fetch`, which
 * decompresses whatever a service sends: 5 KB can take it seconds, and `signal` does not end that.
 */
export async function fetchLimited(url: string, options: FetchOptions, maxBytes: number): Promise<Response> {
  const { method, body, signal, lookup, keepAlive = false } = options
  const headers = new Headers(options.headers)
  headers.set('Accept-Encoding', 'identity')
  for (const [name, value] of [
    ['Accept', '*/*'],
    ['User-Agent', 'node'],
  ] as const)
    if (!headers.has(name)) headers.set(name, value)
  const protocol = new URL(url).protocol === 'https:' ? https : http
  const agent = keepAlive ? protocol.globalAgent : false
  const request = protocol.request(url, { method, headers: Object.fromEntries(headers), signal, lookup, agent })
  let failure: Error | undefined
  request.on('error', (error) => {
    failure ??= error
  })
  let interimResponses = 0
  request.on('information', () => {
    interimResponses += 1
    if (interimResponses > maxInterimResponses) request.destroy(new ResponseRejected('size'))
  })
  try {
    request.end(body?.toString())
    const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
    const encoding = response.headers['content-encoding'] || 'identity'
    if (encoding.toLowerCase() !== 'identity') throw new ResponseRejected('encoding')
    const content = await readLimited(response, maxBytes)
    if (failure) throw failure // a body without a length ends with its connection, whatever ended that
    return toResponse(response, content)
  } catch (error) {
    request.destroy()
    throw signal.aborted ? signal.reason : error
  }
}

async function readLimited(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new ResponseRejected('size')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function toResponse({ statusCode, rawHeaders }: IncomingMessage, body: Buffer): Response {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  return new Response(body.length > 0 ? new Uint8Array(body) : null, { status: statusCode, headers })
}
