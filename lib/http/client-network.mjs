import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

// JavaScript, because bin/server.mjs runs without a build and has to agree with the app on who a client is.

/**
 * The network that a client is counted by: an IPv4 address, or the /64 of an IPv6 address. IPv4 also where it is mapped into
 * IPv6 (RFC 4291 §2.5.5.2). Accepts a port, as some proxies add one. Everything unreadable is one client: `unknown`.
 * @param {string} entry
 * @returns {string}
 */
export function networkOf(entry) {
  const text = entry.match(/^\[(.*)\](?::\d+)?$/)?.[1] ?? entry.match(/^([\d.]+):\d+$/)?.[1] ?? entry
  if (!isIP(text)) return 'unknown'
  const address = ipaddr.process(text.split('%')[0] ?? '')
  if (address instanceof ipaddr.IPv4) return address.toString()
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}

/**
 * The client of a request by its `X-Forwarded-For`, read from the right, past the entries that trusted proxies appended.
 * The last entry is the address of the socket, which bin/server.mjs appends; what a client claims stands left of that.
 * @param {string} forwardedFor
 * @param {number} trustedProxies
 * @returns {string}
 */
export function clientNetwork(forwardedFor, trustedProxies) {
  const entries = forwardedFor.split(',').map((entry) => entry.trim())
  // With fewer entries than proxies, the request came past them: the socket it came from counts.
  return networkOf(entries.at(-1 - trustedProxies) ?? entries.at(-1) ?? '')
}
