import { isIP } from 'node:net'
import { env } from './env'

/**
 * The address that a request's client is counted by: its IPv4 address, or the /64 network of its IPv6 address.
 * On Vercel its own header tells it; elsewhere `X-Forwarded-For`, read from the right, past TRUSTED_PROXIES entries.
 * The last entry is the address of the socket, which `bin/server.mjs` appends; what a client claims stands left of that.
 */
export function clientAddress(request: Request): string {
  const { VERCEL, TRUSTED_PROXIES } = env()
  const header = request.headers.get(VERCEL ? 'x-vercel-forwarded-for' : 'x-forwarded-for') ?? ''
  const entries = header.split(',').map((entry) => entry.trim())
  const trusted = VERCEL ? 0 : TRUSTED_PROXIES
  // fewer entries than proxies: somebody came past them, and what counts is the socket that they came from
  return networkOf(entries.at(-1 - trusted) ?? entries.at(-1) ?? '')
}

/** What an address is counted as. IPv4 also where it is mapped into IPv6 (RFC 4291 §2.5.5.2); anything unreadable counts together. */
export function networkOf(entry: string): string {
  const address = withoutPort(entry)
  if (isIP(address) === 4) return address
  if (isIP(address) !== 6) return 'unknown'
  const groups = groupsOf(address.split('%')[0]!)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (mapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** Some proxies write `203.0.113.7:4711` or `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.match(/^\[(.*)\](?::\d+)?$/)?.[1] ?? entry.match(/^([\d.]+):\d+$/)?.[1] ?? entry
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => `${((+a << 8) | +b).toString(16)}:${((+c << 8) | +d).toString(16)}`)
  const [left = '', right] = hex.split('::')
  const numbers = (part: string) => (part ? part.split(':').map((group) => Number.parseInt(group, 16)) : [])
  const [head, tail] = [numbers(left), numbers(right ?? '')]
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}
