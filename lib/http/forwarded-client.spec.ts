import { expect, test } from 'vitest'
import { addressKey, forwardedClientKey } from './forwarded-client'

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

for (const [entry, network] of Object.entries(cases)) {
  test(`“${entry}” is counted under the key ${network}`, () =>
    expect(addressKey(entry)).toBe(network))
}

test('the entries of trusted proxies are skipped, from the right', () => {
  const entries = '203.0.113.1, 203.0.113.2,203.0.113.3 , 127.0.0.1'
  const keys = [0, 1, 2, 3].map((proxies) => forwardedClientKey(entries, proxies))
  expect(keys).toEqual(['127.0.0.1', '203.0.113.3', '203.0.113.2', '203.0.113.1'])
})

test('without an entry before those of the trusted proxies, the last entry is used: the address of the socket', () => {
  expect(forwardedClientKey('203.0.113.1, 127.0.0.1', 2)).toBe('127.0.0.1')
  expect(forwardedClientKey('127.0.0.1', 1)).toBe('127.0.0.1')
  expect(forwardedClientKey('127.0.0.1', 10)).toBe('127.0.0.1')
  expect(forwardedClientKey('', 1)).toBe('unknown')
})
