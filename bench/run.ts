// `npm run bench`: compares the operations with a floor, another commit or another
// product. See bench/README.md.
import { collect, newProgram, runCommand } from '../bin/command-line'
import { project } from '../bin/dev/local'
import { startEmbeddedPostgres } from '../bin/dev/postgres'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { UsageError } from '../lib/usage-error'
import { type Database, openDatabase } from './database'
import { type Measured, measure } from './load'
import { floorRequests, operations, type Requests } from './operations'
import { openBetterAuth } from './peers'
import { measurePhone } from './phone'
import { reportResults } from './report'
import {
  benchUrl,
  buildFloor,
  buildPeer,
  buildProduct,
  type Server,
  startServer,
} from './servers'
import { measureStarts, type Starter } from './start'

const rounds = 25
const warmUps = 8 // V8 needs several thousand requests to compile everything
const log = (line: string) => console.error(line)

/** A server to measure, and its requests for each operation that it supports. */
type Candidate = {
  name: string
  start: () => Promise<Server>
  requests: Record<string, (amount: number) => Promise<Requests>>
}

type Subject = Candidate & { server: Server }

type Flags = {
  only?: string[]
  rows?: string
  against?: string
  peers?: boolean
  start?: boolean
  phone?: boolean
}

async function bench({
  only = [''],
  rows: givenRows = '100000',
  against,
  peers,
  start: measuresStarts,
  phone: measuresPhone,
}: Flags): Promise<void> {
  const rows = Number(givenRows)
  const selected = Object.entries(operations).filter(([name]) =>
    measuresStarts || measuresPhone
      ? ['exchange', 'page'].includes(name)
      : only.some((part) => name.includes(part)),
  )
  if (selected.length === 0)
    throw new UsageError(`The operations are: ${Object.keys(operations).join(', ')}.`)
  log('Building the product and the floor …')
  const [floorBuild, productBuild] = [buildFloor(), buildProduct()]
  const otherBuild = against ? buildProduct(against) : null
  if (peers) log('Installing and building better-auth …')
  const peerBuild = peers ? buildPeer('better-auth') : null

  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const stops: (() => Promise<unknown>)[] = [() => postgres.release()]
  try {
    const open = async (name: string, migrations?: string) => {
      const isKept = rows > 100_000 && !migrations
      const fullName = `bench_${name}_${isKept ? rows : Date.now()}`
      const database = await openDatabase(postgres.url, fullName, rows, log, migrations)
      stops.push(isKept ? database.end : database.drop)
      return database
    }
    const settings = {
      SESSION_SIGNING_KEYS: newSigningKeys(),
      RATE_LIMIT: 'in-process',
      TRUSTED_PROXIES: '1',
      PASSWORD_SIGN_IN: 'true',
    }
    const startWith = (built: string, more: Record<string, string>) => () =>
      startServer(built, { ...settings, ...more })
    const prepareProduct = (
      name: string,
      built: string,
      database: Database,
    ): Candidate => {
      const requestsOf = ([operation, { requests }]: (typeof selected)[number]) =>
        [operation, (amount: number) => requests(database, amount)] as const
      return {
        name,
        start: startWith(built, { DATABASE_URL: database.url }),
        requests: Object.fromEntries(selected.map(requestsOf)),
      }
    }

    const database = await open('product')
    Object.assign(process.env, {
      ...settings,
      DATABASE_URL: database.url,
      PUBLIC_URL: benchUrl,
    }) // to sign tokens here
    const candidates: Candidate[] = [
      prepareProduct('product', productBuild, database),
      {
        name: 'floor',
        start: startWith(floorBuild, { DATABASE_URL: database.url }),
        requests: Object.fromEntries(
          selected.map(([name, { floor }]) => [name, async () => floorRequests(floor)]),
        ),
      },
    ]
    if (otherBuild) {
      const ofOther = await open('other', `${otherBuild}prisma/migrations`)
      candidates.push(prepareProduct(`at ${against}`, otherBuild, ofOther))
    }

    const starters = candidates.map(asStarter)
    if (measuresStarts) return await measureStarts(starters, log)
    if (measuresPhone)
      return await measurePhone(
        starters.filter(({ name }) => name !== 'floor'),
        log,
      )

    if (peerBuild) {
      const peer = await openBetterAuth(
        postgres.url,
        `bench_peer_${Date.now()}`,
        peerBuild,
      )
      stops.push(peer.drop)
      const start = async () => {
        const server = await startWith(peerBuild, peer.settings)()
        await peer.check(server)
        return server
      }
      candidates.push({ name: 'better-auth', start, requests: peer.requests })
    }

    const subjects: Subject[] = []
    for (const candidate of candidates) {
      const server = await candidate.start()
      stops.push(server.stop)
      subjects.push({ ...candidate, server })
    }
    reportResults(await measureInRounds(selected, subjects), rounds)
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function asStarter({ name, start, requests: { exchange, page } }: Candidate): Starter {
  return { name, start, exchange: () => exchange!(1), page: () => page!(1) }
}

/**
 * Measures each operation of each subject in every round, in a different order each time,
 * so that other load on the machine affects all of them equally. The first rounds only
 * warm up the servers.
 */
async function measureInRounds(
  selected: [string, (typeof operations)[string]][],
  subjects: Subject[],
): Promise<Map<string, Map<string, Measured[]>>> {
  const results = new Map<string, Map<string, Measured[]>>()
  log('Warming up …')
  for (let round = 1 - warmUps; round <= rounds; round++) {
    if (round % 5 === 1) log(`Round ${round} of ${rounds} …`)
    for (const [operation, { amount, connections }] of shuffled(selected)) {
      // operations that hash (one connection) are warmed up once
      if (round < 0 && connections === 1) continue
      for (const { name, server, requests } of shuffled(subjects)) {
        const more = await requests[operation]?.(amount + 50)
        if (!more) continue
        const measured = measure({ ...more, server, amount, connections })
        // a server may fail during warm-up
        const result = await (round < 1 ? measured.catch(() => null) : measured)
        if (!result || round < 1) continue
        const ofOperation = results.get(operation) ?? new Map<string, Measured[]>()
        results.set(
          operation,
          ofOperation.set(name, [...(ofOperation.get(name) ?? []), result]),
        )
      }
    }
  }
  return results
}

const shuffled = <Item>(items: readonly Item[]): Item[] =>
  [...items].sort(() => Math.random() - 0.5)

runCommand(
  newProgram(
    'npm run bench --',
    'Measures each operation in 25 short rounds of shuffled order.',
  )
    .option(
      '--only <name>',
      'only the operations whose names contain this; repeat it for several',
      collect,
    )
    .option(
      '--rows <number>',
      'rows per table, by default 100,000. A database with more is kept for the next run',
    )
    .option('--against <commit>', 'adds another commit')
    .option('--peers', 'adds better-auth')
    .option('--start', 'measures seven starts instead, with their first requests')
    .option('--phone', 'measures seven sign-ins as on a phone instead')
    .action(bench),
)
