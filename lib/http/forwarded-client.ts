import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns an IPv4 address, or the /64 of an IPv6 address. Accepts a port. Invalid entries
 * share one key, `unknown`.
 */
export function addressKey(entry: string): string {
  const text =
    entry.match(/^\[(.*)\](?::\d+)?$/)?.[1] ?? entry.match(/^([\d.]+):\d+$/)?.[1] ?? entry
  if (!isIP(text)) return 'unknown'

  const address = ipaddr.process(text.split('%')[0] ?? '')
  if (address instanceof ipaddr.IPv4) return address.toString()

  const groups = address.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}

/**
 * Returns the client in `X-Forwarded-For`: the last entry except trusted proxies. Clients
 * can forge earlier ones.
 */
export function forwardedClientKey(forwardedFor: string, trustedProxies: number): string {
  const entries = forwardedFor.split(',').map((entry) => entry.trim())
  // A request without this entry bypassed the proxies, so the address of its socket is
  // used.
  return addressKey(entries.at(-1 - trustedProxies) ?? entries.at(-1) ?? '')
}
