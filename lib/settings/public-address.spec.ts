import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address'

const isPublic = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '223.255.255.255']
const isPublicToo = ['2606:4700::1111', '[2a00:1450:4001::1]', '64:ff9b::808:808']
const isNot = [
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.255'],
  ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.170'],
  ...['192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.9', '224.0.0.1'],
  ...['240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '[::1]', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12:3456::1'],
  ...['ff02::1', '2001:db8::1', '2001::1', '2002:7f00:1::', '3fff::1', '100::1'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'],
  ...['::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a00:1', '64:ff9b:1::808:808'],
  ...['fec0::1', '5f00::1', '', 'localhost', 'example.com', '1.2.3', '0x7f.1'],
]

test.each([...isPublic, ...isPublicToo])('%s is public', (address) =>
  expect(isPublicAddress(address)).toBe(true),
)

test.each(isNot)('“%s” is not public', (address) =>
  expect(isPublicAddress(address)).toBe(false),
)
