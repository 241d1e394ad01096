import dns, { type LookupAddress } from 'node:dns'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { env, readProxies } from './settings/env'
import { isLoopback } from './settings/loopback'
import { isPublicAddress } from './settings/public-address'

// Node's default of 250 ms for each address is too short to connect to a server on
// another continent.
const connectAttemptMs = 2_000

/** Thrown for a response that is larger than the caller allows, or compressed. */
export class ResponseRejected extends Error {
  override name = 'ResponseRejected'
  constructor(readonly reason: 'size' | 'encoding') {
    super(
      reason === 'size' ? 'The response is too large.' : 'The response is compressed.',
    )
  }
}

/** Thrown for a request that may only lead to a public address, and does not. */
export class AddressRejected extends Error {
  override name = 'AddressRejected'
  constructor() {
    super('The host has no public address.')
  }
}

export type RequestOptions = Pick<RequestInit, 'method' | 'headers'> & {
  body?: string | URLSearchParams
  signal: AbortSignal
  /**
   * Connects only to public addresses, because somebody outside has chosen the URL. Where
   * the host of PUBLIC_URL is loopback, loopback is allowed. A proxy must check the
   * addresses of names itself.
   */
  publicOnly?: boolean
}

/**
 * Sends a request, through HTTPS_PROXY if that is set. Does not follow redirects. Throws
 * errors of undici, and AddressRejected.
 */
export async function sendRequest(
  url: string,
  options: RequestOptions,
): Promise<Dispatcher.ResponseData> {
  const { method = 'GET', body, signal, publicOnly = false } = options
  if (publicOnly) checkHost(url)

  const given = Object.fromEntries(new Headers(options.headers))
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'node', ...given }
  const { request } = await import('undici')

  const sent = {
    method: method as Dispatcher.HttpMethod,
    headers,
    body: body?.toString() ?? null,
    signal,
  }

  return request(url, { ...sent, dispatcher: await dispatcher(publicOnly) })
}

/**
 * Sends a request, and reads an uncompressed response of at most `maxBytes`. Throws
 * ResponseRejected.
 */
export async function fetchBounded(
  url: string,
  options: RequestOptions,
  maxBytes: number,
): Promise<Response> {
  // Not `fetch`, which decompresses every response. 5 KB can take seconds to decompress,
  // and `signal` does not stop it.
  const { statusCode, headers, body } = await sendRequest(url, options)
  const chunks: Buffer[] = []
  let bytes = 0

  for await (const chunk of body) {
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new ResponseRejected('encoding')
    bytes += chunk.length
    if (bytes > maxBytes) throw new ResponseRejected('size')
    chunks.push(chunk)
  }

  const pairs = Object.entries(headers).flatMap(([name, values = []]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  )

  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, {
    status: statusCode,
    headers: pairs,
  })
}

/** Makes `fetch` of this process use the proxy of HTTPS_PROXY too. Call it at start. */
export async function useProxyForFetch(): Promise<void> {
  const { setGlobalDispatcher } = await import('undici')
  setGlobalDispatcher(await dispatcher(false))
}

// Two, because a connection that is open already is not checked again.
const shared = new Map<boolean, Dispatcher>()

/** Loads undici on the first request, because most processes send no requests. */
async function dispatcher(publicOnly: boolean): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import('undici')
  const connect = {
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: connectAttemptMs,
    lookup: publicOnly ? lookUpPublic : lookUpOnce,
  }
  const proxyTls = { ...connect, lookup: lookUpOnce } // operators choose the proxy

  const { HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy } = readProxies(process.env)
  const known = shared.get(publicOnly)
  if (known) return known

  const created = new EnvHttpProxyAgent({ httpProxy, httpsProxy, connect, proxyTls })
  shared.set(publicOnly, created)

  return created
}

/** Throws AddressRejected if the host is an address that is not allowed: no lookup follows. */
function checkHost(url: string): void {
  const { hostname } = new URL(url)
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) !== 0 && !isAllowed(address)) throw new AddressRejected()
}

function isAllowed(address: string): boolean {
  if (isPublicAddress(address)) return true

  const own = new URL(env().PUBLIC_URL).hostname
  return isLoopback(own) && isLoopback(isIPv6(address) ? `[${address}]` : address)
}

/**
 * Looks up a name for each connection, and returns only the addresses that are allowed. So
 * a name that leads elsewhere later is rejected too.
 */
const lookUpPublic: LookupFunction = (hostname, options, callback) =>
  lookUpOnce(hostname, options, (error, found) => {
    if (error) return callback(error, [])

    const allowed = (found as LookupAddress[]).filter(({ address }) => isAllowed(address))
    callback(allowed.length > 0 ? null : new AddressRejected(), allowed)
  })

const lookUps = new Map<string, Promise<LookupAddress[]>>()

/**
 * Concurrent requests share the lookup of a name. Node.js runs only two lookups at a
 * time. Failing ones take 10 s.
 */
const lookUpOnce: LookupFunction = (hostname, _options, callback) => {
  const lookUp = () =>
    dns.promises.lookup(hostname, { all: true }).finally(() => lookUps.delete(hostname))
  const found = lookUps.get(hostname) ?? lookUp()
  lookUps.set(hostname, found)
  found.then(
    (addresses) => callback(null, addresses),
    (error) => callback(error, []),
  )
}
