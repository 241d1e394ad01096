import bcrypt from 'bcrypt'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { verifyPassword } from './hash'
import { hashNewPassword } from './new-password'

const nfd = 'cafe\u0301 lantern'
const nfc = nfd.normalize('NFC')
const wrong = 'not the password'
const hashOf = (password: string, cost = 4) => bcrypt.hashSync(password, cost)
const hashOfCost = (cost: string) => `$2b$${cost}$${'a'.repeat(53)}`

/**
 * The compared passwords, with the cost of the hash. Hashes above the lowest cost never
 * match, to save time.
 */
let compared: [password: string, cost: number][]
const { compare, hash } = bcrypt
const hashing = vi.spyOn(bcrypt, 'hash')
const comparing = vi.spyOn(bcrypt, 'compare')
beforeEach(() => {
  compared = []
  hashing.mockImplementation((password) => hash(password, 4))
  comparing.mockImplementation(async (password, stored) => {
    compared.push([String(password), bcrypt.getRounds(stored)])
    return bcrypt.getRounds(stored) === 4 && compare(password, stored)
  })
})
afterEach(() => void vi.clearAllMocks())
afterAll(() => void vi.restoreAllMocks())

const longest = 'x'.repeat(72)
const failures: [
  what: string,
  password: string,
  stored: string | null,
  costs: number[],
][] = [
  ['no user or no password', wrong, null, [12]],
  ['a damaged hash', wrong, 'x', [12]],
  ['another algorithm', wrong, `$2x$12$${'a'.repeat(53)}`, [12]],
  ['a wrong password', wrong, hashOfCost('12'), [12]],
  ['a wrong password for a hash of lower cost', wrong, hashOfCost('10'), [10, 12]],
  ['a wrong password for a hash of higher cost', wrong, hashOfCost('13'), [13]],
  ['no user, and a password that is not in NFC', nfd, null, [12, 12]],
  ['a wrong password that is not in NFC', nfd, hashOfCost('12'), [12, 12]],
  [
    'a wrong password that is not in NFC, for a hash of lower cost',
    nfd,
    hashOfCost('10'),
    [10, 12, 10, 12],
  ],
  ['the right 72 bytes and one more byte', `${longest}y`, hashOf(longest), [12]],
  [
    'a wrong password with too many bytes as typed, but not in NFC',
    'o\u0308'.repeat(36),
    hashOfCost('12'),
    [12, 12],
  ],
  ['a long run of accents', 'e\u0301'.repeat(8_000), hashOfCost('12'), [12]],
  ['a NUL byte', `${wrong}\0`, hashOf(wrong), [12]],
  ['a lone surrogate', `${wrong}\ud800`, hashOf(`${wrong}\ufffd`), [12]],
]
test.each(failures)(
  'a failed verification takes at least as much work as for an unknown user: %s',
  async (...row) => {
    const [, password, stored, costs] = row
    expect(await verifyPassword(password, stored)).toBeNull()
    expect(compared.map(([, cost]) => cost)).toEqual(costs)
    expect(hashing).not.toHaveBeenCalled()
  },
)

test('bcrypt does its full work for the dummy hash', async () => {
  await verifyPassword(wrong, null)
  const [, dummy] = comparing.mock.calls[0]!
  expect(await hash('', dummy.slice(0, 29))).toMatch(/^\$2b\$12\$/)
  expect(dummy).toMatch(/^\$2b\$12\$[./A-Za-z0-9]{53}$/)
})

test.each(['2a', '2b', '2y'])(
  'a hash that begins with $%s$ can be verified',
  async (version) => {
    const stored = `$${version}${hashOf(nfc).slice(3)}`
    expect(await verifyPassword(nfc, stored)).not.toBeNull()
    expect(await verifyPassword(wrong, stored)).toBeNull()
  },
)

test('a password is verified as typed, and then in NFC if its NFC form differs', async () => {
  expect(await verifyPassword(nfd, hashOf(nfd))).not.toBeNull()
  expect(compared).toEqual([[nfd, 4]])
  compared = []
  expect(await verifyPassword(nfd, hashOf(nfc))).not.toBeNull()
  expect(compared.map(([password]) => password)).toEqual([nfd, '', nfc])
  expect(
    await verifyPassword('o\u0308'.repeat(36), hashOf('ö'.repeat(36))),
  ).not.toBeNull() // 108 bytes as typed
  compared = []
  expect(await verifyPassword(nfc, hashOf(nfd))).toBeNull()
  expect(compared.map(([password]) => password)).toEqual([nfc, ''])
})

test('a new password is hashed in NFC, with a cost of 12', async () => {
  const stored = await hashNewPassword(`${nfd} meadow`, [])
  expect(hashing.mock.calls).toEqual([[`${nfc} meadow`, 12]])
  for (const typed of [nfd, nfc])
    expect(await verifyPassword(`${typed} meadow`, stored)).not.toBeNull()
})

test('a hash of lower cost is replaced by a hash of the NFC form, unless that form is too long', async () => {
  const long = '\ufb2c'.repeat(24) // 72 bytes as typed, and 144 bytes in NFC
  for (const [typed, hashed] of [
    [wrong, wrong],
    [nfd, nfc],
    [long, long],
  ] as const) {
    const verified = await verifyPassword(typed, hashOf(typed))
    expect(hashing).toHaveBeenLastCalledWith(hashed, 12)
    expect(await compare(hashed, verified!.upgraded!)).toBe(true)
  }
})

test('a hash of the current cost is not replaced', async () => {
  comparing.mockResolvedValueOnce(true as never)
  expect(await verifyPassword(wrong, hashOfCost('12'))).toEqual({ upgraded: null })
  expect(hashing).not.toHaveBeenCalled()
})
