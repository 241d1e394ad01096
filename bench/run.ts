// `npm run bench`: compares exchanges and resets with bare Next.js routes. See bench/README.md.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../bin/embedded-postgres'
import { project } from '../bin/local'
import * as paths from '../lib/contract/paths'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { type Database, openDatabase } from './database'
import { type Measured, measure } from './load'
import { oneTimeTokens, openBetterAuth } from './peers'
import { reportResults, type Start } from './report'
import {
  benchUrl,
  buildFloor,
  buildPeer,
  buildProduct,
  type Server,
  startProgram,
  startServer,
  usageOf,
} from './servers'
import { cronSecret, type Databases, type Servers, unknownCode, type Variant, variantsOf } from './variants'

const { values: flags } = parseArgs({
  options: {
    /** A third of the requests, three rounds, and 100,000 rows instead of 5 million. */
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    rows: { type: 'string' },
    /** A commit to compare with the working tree. */
    against: { type: 'string' },
    /** Adds another implementation of the same operations. */
    peers: { type: 'boolean', default: false },
    /** Runs only the variants whose names contain one of these, and their baselines. */
    only: { type: 'string', multiple: true, default: [''] },
  },
})
const rounds = Number(flags.rounds ?? (flags.quick ? 3 : 5))
const manyRows = Number(flags.rows ?? (flags.quick ? 100_000 : 5_000_000))
const few = 1_000
const exchangePath = paths.exchangeSsoCode
const warmUps = 1
const warmUpRequests = 6_000
const log = (line: string) => console.error(line)

async function main(): Promise<void> {
  log('Building the product and the floor …')
  const [floorBuild, productBuild] = [buildFloor(), buildProduct()]
  const otherBuild = flags.against ? buildProduct(flags.against) : null
  if (flags.peers) log('Installing and building better-auth …')
  const peerBuild = flags.peers ? buildPeer('better-auth') : null

  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const stops: (() => Promise<unknown>)[] = [() => postgres.release()]
  try {
    const small = await openDatabase(postgres.url, `bench_${Date.now()}`, few, log)
    stops.push(() => small.drop())
    const ofOther = otherBuild
      ? await openDatabase(postgres.url, `bench_other_${Date.now()}`, few, log, `${otherBuild}prisma/migrations`)
      : null
    if (ofOther) stops.push(() => ofOther.drop())
    const ofPeer = peerBuild ? await openBetterAuth(postgres.url, `bench_peer_${Date.now()}`, peerBuild) : null
    if (ofPeer) stops.push(() => ofPeer.drop())
    const large = await openDatabase(postgres.url, `bench_rows_${manyRows}`, manyRows, log)
    stops.push(() => large.end())
    const upstash = await startProgram<Record<string, string>>('upstash.ts')
    stops.push(upstash.stop)

    const keys = newSigningKeys()
    const settings = {
      DATABASE_URL: small.url,
      SESSION_SIGNING_KEYS: keys,
      RATE_LIMIT: 'in-process',
      TRUSTED_PROXIES: '1',
    }
    const start = async (built: string, more: Record<string, string> = {}) => {
      const server = await startServer(built, { ...settings, ...more })
      stops.push(server.stop)
      return server
    }
    const starts = await measureStarts(floorBuild, productBuild, settings, small)
    const servers = {
      floor: await start(floorBuild),
      product: await start(productBuild),
      // For rejected requests, resets, sign-ins and floods, so that they do not affect the servers whose
      // exchanges are compared.
      mixed: await start(productBuild, { PASSWORD_SIGN_IN: 'true' }),
      cleaner: await start(productBuild, { DATABASE_URL: large.url, CRON_SECRET: cronSecret }),
      smallPool: await start(productBuild, { DATABASE_POOL_SIZE: '3' }),
      upstash: await start(productBuild, upstash.message),
      large: await start(productBuild, { DATABASE_URL: large.url, PASSWORD_SIGN_IN: 'true' }),
      other: otherBuild ? await start(otherBuild, { DATABASE_URL: ofOther!.url }) : null,
      betterAuth: peerBuild ? await start(peerBuild, ofPeer!.settings) : null,
    }
    // for the tokens that this process makes
    Object.assign(process.env, { ...settings, PUBLIC_URL: benchUrl })
    const variants = selected(
      variantsOf(servers, { small, large, ofOther, ofPeer, manyRows }, { quick: flags.quick, against: flags.against }),
    )
    await warmUp(servers, { small, large, ofOther, ofPeer })
    const measured = await measureInRounds(variants)
    log(`All rounds are in ${reportResults(variants, measured, starts, rounds)}`)
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

/**
 * V8 needs several thousand requests to compile everything. Each server gets the same number before
 * any is measured.
 */
async function warmUp(
  { floor, cleaner: _, large: largeServer, other, betterAuth, ...products }: Servers,
  { small, large, ofOther, ofPeer }: Omit<Databases, 'manyRows'>,
): Promise<void> {
  const send = (server: Server, path: string, body: () => object, amount: number) =>
    measure({ server, path, body, status: 200, connections: 16, amount })
  log('Warming up …')
  for (const path of ['/api/plain', '/api/query'])
    await send(floor, path, () => ({ code: unknownCode }), warmUpRequests / 2)
  const claimed = await small.newCodes(warmUpRequests / 2 + 50)
  await send(floor, '/api/claim', () => ({ code: claimed() }), warmUpRequests / 2)
  for (const server of [...Object.values(products), largeServer, other]) {
    if (!server) continue
    const database = server === largeServer ? large : server === other ? ofOther! : small
    const code = await database.newCodes(warmUpRequests + 50)
    await send(server, exchangePath, () => ({ code: code() }), warmUpRequests)
  }
  if (betterAuth) {
    await ofPeer!.check(betterAuth)
    await measure(await oneTimeTokens(betterAuth, ofPeer!, warmUpRequests))
  }
}

/** The variants selected with `--only`, and their baselines. */
function selected(variants: Variant[]): Variant[] {
  const wanted = new Set(
    variants.filter(({ name }) => flags.only.some((part) => name.includes(part))).map(({ name }) => name),
  )
  for (const { name, baseline } of [...variants].reverse()) if (wanted.has(name) && baseline) wanted.add(baseline)
  return variants.filter(({ name }) => wanted.has(name))
}

/**
 * Runs every variant once per round, in a different order each time, so that other load on the
 * machine affects all of them alike. The first round only fills caches.
 */
async function measureInRounds(variants: Variant[]): Promise<Map<string, Measured[]>> {
  const measured = new Map<string, Measured[]>(variants.map(({ name }) => [name, []]))
  for (let round = 1 - warmUps; round <= rounds; round++) {
    log(round <= 0 ? 'Warming up …' : `Round ${round} of ${rounds} …`)
    for (const variant of shuffled(variants)) {
      const result = await variant.run()
      if (round > 0) measured.get(variant.name)!.push(result)
      await sleep(200)
    }
  }
  return measured
}

/**
 * Measures the time from the start of the process to its first response, and its memory after two
 * idle seconds.
 */
async function measureStarts(
  floorBuild: string,
  productBuild: string,
  settings: Record<string, string>,
  database: Database,
): Promise<Start[][]> {
  log('Starting servers …')
  const count = flags.quick ? 3 : 7
  const nextCode = await database.newCodes(count + 10)
  const all: Start[][] = []
  for (let round = 0; round <= count; round++) {
    const starts: Start[] = []
    for (const [name, built, path] of shuffled([
      ['floor: SELECT 1', floorBuild, '/api/query'],
      ['exchange', productBuild, exchangePath],
    ] as const)) {
      const server = await startServer(built, settings)
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: nextCode() }),
      })
      if (!response.ok) throw new Error(`${name} responded with ${response.status}`)
      const firstResponseMs = performance.now() - server.startedAt
      const { cpuMs } = usageOf(server.process)
      await sleep(2_000)
      starts.push({ name, firstResponseMs, cpuMs, idleMemoryMb: usageOf(server.process).memoryMb })
      await server.stop()
    }
    if (round > 0) all.push(starts) // the first round fills the disk cache
  }
  return all
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.stack)
    process.exit(1)
  },
)
