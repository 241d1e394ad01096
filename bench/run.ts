// `npm run bench`: compares exchanges and resets with bare Next.js routes. See bench/README.md.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../bin/embedded-postgres'
import { project } from '../bin/local'
import { paths } from '../lib/contract/paths'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { type Database, openDatabase } from './database'
import { type Load, type Measured, meanwhile, measure } from './load'
import { reportResults, type Start } from './report'
import { buildFloor, buildProduct, type Server, startProgram, startServer, usageOf } from './servers'

const { values: flags } = parseArgs({
  options: {
    /** A third of the requests, three rounds, and 100,000 rows instead of 5 million. */
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    rows: { type: 'string' },
    /** A commit to compare with the working tree. */
    against: { type: 'string' },
    /** Runs only the variants whose names contain one of these, and their baselines. */
    only: { type: 'string', multiple: true, default: [''] },
  },
})
const rounds = Number(flags.rounds ?? (flags.quick ? 3 : 7))
const manyRows = Number(flags.rows ?? (flags.quick ? 100_000 : 5_000_000))
const size = (amount: number) => Math.ceil(flags.quick ? amount / 3 : amount)
const [few, many] = [1_000, manyRows]
const exchangePath = paths.exchangeSsoCode
const resetPath = paths.resetPassword
const unknownCode = 'x'.repeat(43)
const warmUps = 1
const warmUpRequests = 6_000
const expiredRows = 30_000
const cronSecret = 'the secret of the clean-up'
const floodEveryMs = 20
const floodAtMost = 500
const log = (line: string) => console.error(line)

type Variant = {
  name: string
  /** The variant of the same round to compare with. */
  baseline?: string
  run: () => Promise<Measured>
}

async function main(): Promise<void> {
  log('Building the product and the floor …')
  const [floorBuild, productBuild] = [buildFloor(), buildProduct()]
  const otherBuild = flags.against ? buildProduct(flags.against) : null

  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const stops: (() => Promise<unknown>)[] = [() => postgres.release()]
  try {
    const small = await openDatabase(postgres.url, `bench_${Date.now()}`, few, log)
    stops.push(() => small.drop())
    const large = await openDatabase(postgres.url, `bench_rows_${many}`, many, log)
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
      // For rejected requests, resets and floods, so that they do not affect the servers whose
      // exchanges are compared.
      mixed: await start(productBuild),
      cleaner: await start(productBuild, { DATABASE_URL: large.url, CRON_SECRET: cronSecret }),
      smallPool: await start(productBuild, { DATABASE_POOL_SIZE: '3' }),
      upstash: await start(productBuild, upstash.message),
      large: await start(productBuild, { DATABASE_URL: large.url }),
      other: otherBuild ? await start(otherBuild) : null,
    }
    const variants = selected(variantsOf(servers, small, large))
    await warmUp(servers, small, large)
    const measured = await measureInRounds(variants)
    log(`All rounds are in ${reportResults(variants, measured, starts, rounds)}`)
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

type Servers = Record<'floor' | 'product' | 'mixed' | 'cleaner' | 'smallPool' | 'upstash' | 'large', Server> & {
  other: Server | null
}

/**
 * V8 needs several thousand requests to compile everything. Each server gets the same number before
 * any is measured.
 */
async function warmUp(
  { floor, cleaner: _, large: largeServer, other, ...products }: Servers,
  small: Database,
  large: Database,
): Promise<void> {
  const send = (server: Server, path: string, body: () => object, amount: number) =>
    measure({ server, path, body, status: 200, connections: 16, amount })
  log('Warming up …')
  for (const path of ['/api/plain', '/api/query'])
    await send(floor, path, () => ({ code: unknownCode }), warmUpRequests / 2)
  for (const server of [...Object.values(products), largeServer, other]) {
    if (!server) continue
    const code = await (server === largeServer ? large : small).newCodes(warmUpRequests + 50)
    await send(server, exchangePath, () => ({ code: code() }), warmUpRequests)
  }
}

function variantsOf(
  { floor, product, mixed, cleaner, smallPool, upstash, large: largeServer, other }: Servers,
  small: Database,
  large: Database,
): Variant[] {
  const load = (server: Server, path: string, code: () => string, more: Partial<Load> = {}) =>
    measure({
      server,
      path,
      body: () => ({ code: code() }),
      status: 200,
      connections: 16,
      amount: size(3_000),
      ...more,
    })
  const good = async (server: Server, database: Database, more: Partial<Load> = {}) =>
    load(server, exchangePath, await database.newCodes((more.amount ?? size(3_000)) + 50), more)
  const unknown = () => unknownCode
  const one = { connections: 1, amount: size(600) }
  const hashes = { connections: 1, amount: size(12) }

  const variants: Variant[] = [
    { name: 'floor: JSON in, JSON out', baseline: 'floor: SELECT 1', run: () => load(floor, '/api/plain', unknown) },
    { name: 'floor: SELECT 1', run: () => load(floor, '/api/query', unknown) },
    { name: 'exchange', baseline: 'floor: SELECT 1', run: () => good(product, small) },
    {
      name: 'exchange, rejected',
      baseline: 'exchange',
      run: () => load(mixed, exchangePath, unknown, { status: 400 }),
    },
    { name: '429', baseline: 'floor: JSON in, JSON out', run: () => overTheLimit(mixed) },
    { name: 'exchange, Upstash', baseline: 'exchange', run: () => good(upstash, small) },
    { name: '429, Upstash', baseline: 'floor: JSON in, JSON out', run: () => overTheLimit(upstash) },
    { name: 'exchange, 3 connections to PostgreSQL', baseline: 'exchange', run: () => good(smallPool, small) },
    { name: `exchange, ${many.toLocaleString('en')} rows`, baseline: 'exchange', run: () => good(largeServer, large) },
    { name: 'floor: SELECT 1, 1 connection', run: () => load(floor, '/api/query', unknown, one) },
    { name: 'exchange, 1 connection', baseline: 'floor: SELECT 1, 1 connection', run: () => good(product, small, one) },
    {
      name: `exchange, ${many.toLocaleString('en')} rows, 1 connection`,
      baseline: 'exchange, 1 connection',
      run: () => good(largeServer, large, one),
    },
    {
      name: 'floor: bcrypt, 1 connection',
      run: () => measure({ ...password(floor, '/api/hash', unknown), ...hashes }),
    },
    {
      name: 'reset, 1 connection',
      baseline: 'floor: bcrypt, 1 connection',
      run: async () => measure({ ...password(mixed, resetPath, await small.newTokens(hashes.amount + 10)), ...hashes }),
    },
    {
      name: 'exchange while resets flood',
      baseline: 'exchange',
      run: async () => {
        const token = await small.newTokens(floodAtMost)
        const { result, statuses } = await meanwhile(
          { ...password(mixed, resetPath, token), everyMs: floodEveryMs, atMost: floodAtMost },
          () => good(mixed, small),
        )
        return { ...result, meanwhile: statuses }
      },
    },
    {
      name: `exchange, ${many.toLocaleString('en')} rows, while the clean-up deletes`,
      baseline: `exchange, ${many.toLocaleString('en')} rows`,
      run: async () => {
        await large.addExpired(expiredRows)
        const headers = { authorization: `Bearer ${cronSecret}` }
        const cleanUp = fetch(`${cleaner.url}/api/cron/clean-up`, { headers }).then(
          (response) => response.json() as Promise<{ deleted: Record<string, number> }>,
        )
        const result = await good(largeServer, large)
        return { ...result, meanwhile: (await cleanUp).deleted }
      },
    },
  ]
  if (other)
    variants.push({ name: `exchange at ${flags.against}`, baseline: 'exchange', run: () => good(other, small) })
  return variants

  function password(server: Server, path: string, token: () => string) {
    let number = 0
    const body = () => ({ token: token(), password: `lantern meadow ${number++} river` })
    return { server, path, body, status: 200 }
  }

  async function overTheLimit(server: Server): Promise<Measured> {
    const leftMs = windowMs - (Date.now() % windowMs)
    if (leftMs < 20_000) await sleep(leftMs) // Redis counts per 15-minute window: do not measure across its end
    const ipAddress = `192.0.2.${++overdrawn % 256}`
    await load(server, '/api/nothing', unknown, { ipAddress, status: null, amount: 2_050 })
    return load(server, exchangePath, unknown, { ipAddress, status: 429 })
  }
}

const windowMs = 15 * 60_000
let overdrawn = 0

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
    for (const { name, run } of shuffled(variants)) {
      const result = await run()
      if (round > 0) measured.get(name)!.push(result)
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
