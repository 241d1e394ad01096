import { BlockList, isIP, isIPv4 } from 'node:net'

// The blocks that no public server has (IANA, IPv4 and IPv6 Special-Purpose Address
// Registries, RFC 6890).
const special = new BlockList()
for (const block of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
])
  addBlock(block, 'ipv4')
for (const block of ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
  addBlock(block, 'ipv6')

/** All public addresses of IPv6 are in it. */
const unicast = new BlockList()
unicast.addSubnet('2000::', 3, 'ipv6')

function addBlock(block: string, family: 'ipv4' | 'ipv6'): void {
  const [address, bits] = block.split('/')
  special.addSubnet(address!, Number(bits), family)
}

/**
 * Whether an IP address belongs to the public internet. Accepts IPv4 and IPv6, with or
 * without brackets. False for other texts.
 */
export function isPublicAddress(text: string): boolean {
  const address = text.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return false
  if (isIPv4(address)) return !special.check(address, 'ipv4')

  const embedded = readEmbedded(address)
  if (embedded !== null) return !special.check(embedded, 'ipv4')

  return unicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/**
 * Returns the IPv4 address in one of NAT64 (RFC 6052), which stands for it. Null for
 * others. Mapped addresses (::ffff:0:0/96) are not public: no name server returns them.
 */
function readEmbedded(address: string): string | null {
  const { hostname } = new URL(`http://[${address.split('%')[0]}]`)
  const [, high, low] =
    /^\[64:ff9b::(?:([\da-f]{1,4}):)?([\da-f]{1,4})\]$/.exec(hostname) ?? []
  if (low === undefined) return null

  const [first, second] = [high ?? '0', low].map((part) => Number.parseInt(part, 16))
  return [first! >> 8, first! & 255, second! >> 8, second! & 255].join('.')
}
