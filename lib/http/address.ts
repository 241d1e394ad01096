import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Who stands in front of the server. The fields of `env()`. */
type Front = { VERCEL?: string | undefined; TRUSTED_PROXIES: number }

/**
 * Returns the address of the client that sent a request, by which rate limits count: an
 * IPv4 address, the /64 of an IPv6 address, or `unknown`.
 */
export function readAddress(
  headers: Headers,
  { VERCEL, TRUSTED_PROXIES }: Front,
): string {
  if (VERCEL) return pickAddress(headers.get('x-vercel-forwarded-for') ?? '', 0)
  return pickAddress(headers.get('x-forwarded-for') ?? '', TRUSTED_PROXIES)
}

/**
 * Returns the client in `X-Forwarded-For`: the last entry except trusted proxies. Clients
 * can forge earlier ones. The result is an address as in `readAddress`.
 */
export function pickAddress(forwardedFor: string, trustedProxies: number): string {
  const entries = forwardedFor.split(',').map((entry) => entry.trim())
  // A request without this entry bypassed the proxies, so the address of its socket is
  // used.
  return toAddress(entries.at(-1 - trustedProxies) ?? entries.at(-1) ?? '')
}

/**
 * Returns an IPv4 address, or the /64 of an IPv6 address. Accepts a port. Invalid entries
 * share one address, `unknown`.
 */
export function toAddress(entry: string): string {
  const text =
    entry.match(/^\[(.*)\](?::\d+)?$/)?.[1] ?? entry.match(/^([\d.]+):\d+$/)?.[1] ?? entry
  if (!isIP(text)) return 'unknown'

  const address = ipaddr.process(text.split('%')[0] ?? '')
  if (address instanceof ipaddr.IPv4) return address.toString()

  const groups = address.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}

/**
 * Returns the block of an address as events store it: an IPv4 /24, an IPv6 /48, or null.
 * `address`: as `readAddress` returns it.
 */
export function toBlock(address: string): string | null {
  if (address === 'unknown') return null
  if (!address.includes(':')) return toNetwork(address)

  const [first, second, third] = address.split(':')
  return `${first}:${second}:${third}::/48`
}

/**
 * Returns the network of an address, by which attempts with passwords are counted: an
 * IPv4 /24 or an IPv6 /64.
 */
export function toNetwork(address: string): string {
  return address.replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24')
}
