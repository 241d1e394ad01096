import { env } from '../settings/env'
import { forwardedClientKey } from './forwarded-client'

/**
 * Returns the key by which rate limits count the client of a request: an IPv4 address or
 * an IPv6 /64 network.
 */
export function clientKey({ headers }: { headers: Headers }): string {
  const { VERCEL, TRUSTED_PROXIES } = env()
  if (VERCEL) return forwardedClientKey(headers.get('x-vercel-forwarded-for') ?? '', 0)
  return forwardedClientKey(headers.get('x-forwarded-for') ?? '', TRUSTED_PROXIES)
}

/**
 * Returns the network by which password attempts of a client are counted: an IPv4 /24 or
 * an IPv6 /64.
 */
export function clientSubnet(request: { headers: Headers }): string {
  return clientKey(request).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24')
}
