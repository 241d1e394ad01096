// Loaded into a server under test with `NODE_OPTIONS=--import …`: the name server of its DNS is
// NAME_SERVER, and its system's resolver queries the same one, for two names at a time (libuv).
import dns from 'node:dns'

const { Resolver } = dns.promises
const { lookup } = dns
const systemTriesMs = [5_000, 5_000]

dns.promises.Resolver = class extends Resolver {
  constructor(options) {
    super(options)
    this.setServers([process.env.NAME_SERVER])
  }
}

let free = 2
const waiting = []

async function inSlot(act) {
  if (free === 0) await new Promise((resolve) => waiting.push(resolve))
  else free -= 1
  try {
    return await act()
  } finally {
    if (waiting.length > 0) waiting.shift()()
    else free += 1
  }
}

async function resolve(hostname) {
  for (const timeout of systemTriesMs) {
    const resolver = new Resolver({ timeout, tries: 1 })
    resolver.setServers([process.env.NAME_SERVER])
    try {
      return await resolver.resolve4(hostname)
    } catch (error) {
      if (error.code !== dns.TIMEOUT) throw error
    }
  }
  throw Object.assign(new Error('No answer.'), { code: 'EAI_AGAIN' })
}

dns.lookup = (hostname, options, callback) => {
  if (!hostname.endsWith('.localhost')) return lookup(hostname, options, callback)
  inSlot(() => resolve(hostname)).then(
    ([address]) => (options.all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4)),
    (error) => callback(error),
  )
}
dns.promises.lookup = (hostname, options) =>
  new Promise((resolve, reject) =>
    dns.lookup(hostname, options, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  )
