import dns, { type LookupAddress } from 'node:dns'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startNameServer } from '../../e2e/support/name-server'
import { lookUpProvider } from './provider-address'

const real = { Resolver: dns.promises.Resolver, lookup: dns.promises.lookup }
const ipv4 = (last: number) => Buffer.from([192, 0, 2, last])
const ipv6 = (last: number) => Buffer.from([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
const twenty = Array.from({ length: 20 }, (_, index) => index + 1)
const names = {
  'both.example': { A: [ipv4(1)], AAAA: [ipv6(1)] },
  'ipv4.example': { A: [ipv4(2)] },
  'ipv6.example': { AAAA: [ipv6(1)] },
  'silent-ipv6.example': { A: [ipv4(3)], AAAA: null },
  'silent-ipv4.example': { A: null },
  'many.example': { A: twenty.map(ipv4), AAAA: twenty.map(ipv6) },
  'often.example': { A: [ipv4(4)] },
  'neither.example': {},
  'dead.example': null,
  'often-dead.example': null,
  'slow-dead.example': null,
}

let nameServer: Awaited<ReturnType<typeof startNameServer>>
/** The look-ups of the system, which the test ends. */
let system: { hostname: string; answer: (addresses: LookupAddress[]) => void }[]

beforeEach(async () => {
  nameServer = await startNameServer(names)
  system = []
  Object.assign(dns.promises, {
    Resolver: class extends real.Resolver {
      constructor(options?: dns.ResolverOptions) {
        super({ ...options, timeout: options!.timeout! / 10 })
        this.setServers([nameServer.address])
      }
    },
    lookup: (hostname: string) =>
      new Promise<LookupAddress[]>((answer) => {
        system.push({ hostname, answer })
      }),
  })
})
afterEach(async () => {
  Object.assign(dns.promises, real)
  await nameServer.stop()
})

const addressesOf = (hostname: string) =>
  new Promise<unknown>((resolve) =>
    lookUpProvider(hostname, { all: true }, (error, addresses) => resolve(error ? error.code : addresses)),
  )

test('DNS is queried for IPv4 and IPv6 addresses', async () => {
  const addresses = {
    both: ['192.0.2.1', '2001:db8::1'],
    ipv4: ['192.0.2.2'],
    ipv6: ['2001:db8::1'],
  }
  for (const [name, expected] of Object.entries(addresses))
    expect(await addressesOf(`${name}.example`)).toEqual(
      expected.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  const first = await new Promise((resolve) =>
    lookUpProvider('both.example', {}, (_, address, family) => resolve([address, family])),
  )
  expect(first).toEqual(['192.0.2.1', 4])
  expect(system).toEqual([])
})

test('a name that DNS never answers is not left to the system', async () => {
  for (const name of ['dead.example', 'silent-ipv4.example']) expect(await addressesOf(name)).toBe('ETIMEOUT')
  expect(system).toEqual([])
})

test('does not wait for the addresses of one family until the time-out of the other', async () => {
  let isTimedOut = false
  const dead = addressesOf('slow-dead.example').then(() => (isTimedOut = true))
  expect(await addressesOf('silent-ipv6.example')).toEqual([{ address: '192.0.2.3', family: 4 }])
  expect(isTimedOut).toBe(false)
  await dead
})

test('the system knows names that DNS does not: one is looked up at a time', async () => {
  const found = [{ address: '192.0.2.3', family: 4 }]
  const results = ['absent.example', 'neither.example', 'short'].map(addressesOf)
  for (let count = 1; count <= 3; count++) {
    await expect.poll(() => system.length).toBe(count)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(system.length, 'at a time').toBe(count)
    system[count - 1]!.answer(found)
  }
  expect(await Promise.all(results)).toEqual([found, found, found])
  expect(system.map(({ hostname }) => hostname).sort()).toEqual(['absent.example', 'neither.example', 'short'])
})

test('of a name with many addresses, 16 are tried', async () => {
  const addresses = (await addressesOf('many.example')) as LookupAddress[]
  expect(addresses.filter(({ family }) => family === 4)).toHaveLength(8)
  expect(addresses.filter(({ family }) => family === 6)).toHaveLength(8)
  const result = addressesOf('many-absent.example') as Promise<LookupAddress[]>
  await expect.poll(() => system.length).toBe(1)
  system[0]!.answer(twenty.map((last) => ({ address: `192.0.2.${last}`, family: 4 })))
  expect(await result).toHaveLength(16)
})

test('a name is looked up once in five seconds, found or not', async () => {
  await Promise.all(Array.from({ length: 10 }, () => addressesOf('often.example')))
  await addressesOf('often.example')
  expect(nameServer.queried).toEqual(['often.example', 'often.example']) // IPv4 and IPv6
  for (let count = 0; count < 2; count++) expect(await addressesOf('often-dead.example')).toBe('ETIMEOUT')
  expect(nameServer.queried.filter((name) => name === 'often-dead.example')).toHaveLength(4) // two tries
})

test('the hosts file is read before DNS is queried', async () => {
  const found = [{ address: '127.0.0.1', family: 4 }]
  const result = addressesOf('localhost')
  await expect.poll(() => system.map(({ hostname }) => hostname)).toEqual(['localhost'])
  system[0]!.answer(found)
  expect(await result).toEqual(found)
  expect(nameServer.queried).toEqual([])
})
