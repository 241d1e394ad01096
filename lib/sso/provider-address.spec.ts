import dns, { type LookupAddress } from 'node:dns'
import { expect, test } from 'playwright/test'
import { startNameServer } from '../../e2e/support/name-server'
import { lookUpProvider } from './provider-address'

const real = { Resolver: dns.promises.Resolver, lookup: dns.promises.lookup }
const ipv6 = Buffer.from('20010db8000000000000000000000001', 'hex')
const names = {
  'both.example': { A: [192, 0, 2, 1] as [number, number, number, number], AAAA: ipv6 },
  'ipv4.example': { A: [192, 0, 2, 2] as [number, number, number, number] },
  'ipv6.example': { AAAA: ipv6 },
  'neither.example': {},
  'dead.example': null,
}

let nameServer: Awaited<ReturnType<typeof startNameServer>>
/** What the system is asked, and how it answers. */
let system: { hostname: string; answer: (addresses: LookupAddress[]) => void }[]

test.beforeEach(async () => {
  nameServer = await startNameServer(names)
  system = []
  Object.assign(dns.promises, {
    Resolver: class extends real.Resolver {
      constructor(options?: dns.ResolverOptions) {
        super(options)
        this.setServers([nameServer.address])
      }
    },
    lookup: (hostname: string) =>
      new Promise<LookupAddress[]>((answer) => {
        system.push({ hostname, answer })
      }),
  })
})
test.afterEach(async () => {
  Object.assign(dns.promises, real)
  await nameServer.stop()
})

const addressesOf = (hostname: string) =>
  new Promise<unknown>((resolve) =>
    lookUpProvider(hostname, { all: true }, (error, addresses) => resolve(error ? error.code : addresses)),
  )

test('DNS is asked for IPv4 and IPv6', async () => {
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
  expect(await addressesOf('dead.example')).toBe('ETIMEOUT')
  expect(system).toEqual([])
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

test('the hosts file is read before DNS is asked', async () => {
  const found = [{ address: '127.0.0.1', family: 4 }]
  const result = addressesOf('localhost')
  await expect.poll(() => system.map(({ hostname }) => hostname)).toEqual(['localhost'])
  system[0]!.answer(found)
  expect(await result).toEqual(found)
  expect(nameServer.asked).toEqual([])
})
