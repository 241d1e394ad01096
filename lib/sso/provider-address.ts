import dns, { type LookupAddress } from 'node:dns'
import { readFile } from 'node:fs/promises'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import PQueue from 'p-queue'

const queryMs = 1_000 // for the first of two queries; the second has longer
const otherFamilyMs = 300 // how much longer the addresses of the other family may take; some name servers never send them
const maxAddresses = 8 // of a family; node:net tries all of them, thousands in one turn of the event loop
const keptMs = 5_000 // else clients would decide how often we parse what the name server of a provider sends
const turnMs = 5_000 // longer than anybody waits for a provider

/**
 * Looks up the host of a provider, for node:http: in the hosts file, then in DNS, then with the
 * system’s resolver, which knows search domains and other sources. Not with that alone: it looks up
 * two names at a time, and spends ten seconds on one that DNS never answers.
 */
export const lookUpProvider: LookupFunction = (hostname, { all }, callback) => {
  recentAddressesOf(hostname).then(
    (addresses) => (all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family)),
    (error) => callback(error, []),
  )
}

const recent = new Map<string, Promise<LookupAddress[]>>()
const systemLookups = new PQueue({ concurrency: 1 })

function recentAddressesOf(hostname: string): Promise<LookupAddress[]> {
  const known = recent.get(hostname)
  if (known) return known
  const addresses = addressesOf(hostname)
  recent.set(hostname, addresses)
  const forget = () => setTimeout(() => recent.delete(hostname), keptMs).unref()
  addresses.then(forget, forget)
  return addresses
}

async function addressesOf(hostname: string): Promise<LookupAddress[]> {
  if (await isInHostsFile(hostname)) return lookUpWithSystem(hostname)
  const resolver = new dns.promises.Resolver({ timeout: queryMs, tries: 2 }) // with the name servers of this moment
  const found: LookupAddress[] = []
  const find = async (family: 4 | 6) => {
    const addresses = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname))
    found.push(...addresses.slice(0, maxAddresses).map((address) => ({ address, family })))
  }
  const queries = [find(4), find(6)]
  const all = Promise.allSettled(queries)
  const soon = Promise.any(queries).then(() => sleep(otherFamilyMs))
  await Promise.race([all, soon.catch(() => all)])
  if (found.length > 0) return [...found] // the other family can still arrive
  for (const result of await all)
    if (result.status === 'rejected' && result.reason.code === dns.TIMEOUT) throw result.reason
  const endsAt = performance.now() + turnMs
  return systemLookups.add(async () => {
    if (performance.now() > endsAt) throw new Error('The system took too long to look up other names.')
    return lookUpWithSystem(hostname)
  })
}

async function isInHostsFile(hostname: string): Promise<boolean> {
  const lines = (await readFile('/etc/hosts', 'utf8').catch(() => '')).split('\n')
  return lines.some((line) => line.toLowerCase().replace(/#.*/, '').trim().split(/\s+/).slice(1).includes(hostname))
}

async function lookUpWithSystem(hostname: string): Promise<LookupAddress[]> {
  return (await dns.promises.lookup(hostname, { all: true })).slice(0, 2 * maxAddresses)
}
