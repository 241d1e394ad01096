import { expect, test } from 'vitest'
import { pickAddress, readAddress, toAddress, toBlock, toNetwork } from './address'

const cases = {
  '203.0.113.7': '203.0.113.7',
  '203.0.113.7:4711': '203.0.113.7',
  '::ffff:203.0.113.7': '203.0.113.7',
  '::ffff:cb00:7107': '203.0.113.7',
  '[::ffff:203.0.113.7]:443': '203.0.113.7',
  '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
  '2001:db8:1:2:ffff::': '2001:db8:1:2::/64',
  '2001:0DB8:0001:0002::1': '2001:db8:1:2::/64',
  '[2001:db8:1:2::9]:4711': '2001:db8:1:2::/64',
  '2001:db8:1:3::1': '2001:db8:1:3::/64',
  '2001:db8::1': '2001:db8:0:0::/64',
  '::1': '0:0:0:0::/64',
  'fe80::1%eth0': 'fe80:0:0:0::/64',
  '': 'unknown',
  unknown: 'unknown',
  '203.0.113.7.9': 'unknown',
  '<script>': 'unknown',
}

for (const [entry, address] of Object.entries(cases)) {
  test(`“${entry}” is counted as the address ${address}`, () =>
    expect(toAddress(entry)).toBe(address))
}

test('the network of an IPv4 address is its /24, that of an IPv6 address its /64', () => {
  const networks = ['203.0.113.7', '2001:db8:1:2::/64', 'unknown'].map(toNetwork)
  expect(networks).toEqual(['203.0.113.0/24', '2001:db8:1:2::/64', 'unknown'])
})

test('the entries of trusted proxies are skipped, from the right', () => {
  const entries = '203.0.113.1, 203.0.113.2,203.0.113.3 , 127.0.0.1'
  const picked = [0, 1, 2, 3].map((proxies) => pickAddress(entries, proxies))
  expect(picked).toEqual(['127.0.0.1', '203.0.113.3', '203.0.113.2', '203.0.113.1'])
})

test('without an entry before those of the trusted proxies, the last entry is used: the address of the socket', () => {
  expect(pickAddress('203.0.113.1, 127.0.0.1', 2)).toBe('127.0.0.1')
  expect(pickAddress('127.0.0.1', 1)).toBe('127.0.0.1')
  expect(pickAddress('127.0.0.1', 10)).toBe('127.0.0.1')
  expect(pickAddress('', 1)).toBe('unknown')
})

const header = 'X-Vercel-Forwarded-For'

test('on Vercel, only the last entry of Vercel’s header is used', () => {
  const forged = { 'X-Forwarded-For': '203.0.113.1', 'X-Real-IP': '203.0.113.2' }
  const given = ['203.0.113.7', '203.0.113.3, 203.0.113.7', '2001:db8:1:2::9'].map(
    (value) => ({ [header]: value }),
  )

  const addresses = [...given, {}].map((own) =>
    readAddress(new Headers({ ...forged, ...own }), { VERCEL: '1', TRUSTED_PROXIES: 1 }),
  )

  expect(addresses).toEqual([
    '203.0.113.7',
    '203.0.113.7',
    '2001:db8:1:2::/64',
    'unknown',
  ])
})

test('outside Vercel, Vercel’s header is ignored', () => {
  const headers = new Headers({
    'X-Forwarded-For': '203.0.113.1, 127.0.0.1',
    [header]: '203.0.113.7',
  })
  // the address that the trusted proxy appended
  expect(readAddress(headers, { TRUSTED_PROXIES: 1 })).toBe('203.0.113.1')
})

test('events have the IPv4 /24 or the IPv6 /48 of a client, and nothing of an invalid address', () => {
  const blocks = ['203.0.113.7', '2001:db8:1:2::9', '2001:db8::9', '::1', 'x'].map(
    (entry) => toBlock(toAddress(entry)),
  )
  expect(blocks).toEqual([
    '203.0.113.0/24',
    '2001:db8:1::/48',
    '2001:db8:0::/48',
    '0:0:0::/48',
    null,
  ])
})
