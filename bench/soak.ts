// `npm run bench:soak`: all operations and pages (see `mix`) for 20 minutes, on two processes, at 70 % of
// what they can do. Shows whether memory or response times grow.
import { randomBytes } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../bin/embedded-postgres'
import { project } from '../bin/local'
import { startMailbox } from '../bin/mailbox'
import * as paths from '../lib/contract/paths'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { type Database, openDatabase } from './database'
import { quantile } from './load'
import { connectProviders } from './providers'
import { benchUrl, buildFloor, buildProduct, type Server, startProgram, startServer, usageOf } from './servers'

const { values: flags } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } })
const minutes = Number(flags.minutes)
const calmAfterMinutes = 2 // caches fill, and code is compiled
const loadShare = 0.7
const capacityMs = 20_000
const clients = 1_000
const keptSessions = 500
const log = (line: string) => console.error(line)

type Session = { token: string; refreshToken: string }
type Call = {
  method: string
  path: string
  headers?: Record<string, string>
  /** Sent as JSON, or as a form. */
  body?: object | URLSearchParams
  received?: (body: string) => void
}
type Secrets = Record<'code' | 'token' | 'unusedToken', () => string> & {
  signIn: () => { email: string; password: string }
}
/** Signs in at a server through an identity provider, up to the landing page. */
type SignIns = Record<'oidc' | 'saml', (server: Server) => Promise<unknown>>
type Result = { status: number; ms: number }

/** Kinds of requests: the share of each in percent, and the status that it must have. */
const mix: ({ name: string; share: number; status: number } & (
  | { call: (secrets: Secrets) => Call }
  | { signIn: keyof SignIns }
))[] = [
  { name: 'exchange', share: 25, status: 200, call: ({ code }) => exchange(code()) },
  {
    name: 'exchange, rejected',
    share: 5,
    status: 400,
    call: () => post(paths.exchangeSsoCode, { code: 'x'.repeat(43) }),
  },
  { name: 'session', share: 22, status: 200, call: () => bearer('GET', paths.getSession) },
  { name: 'refresh', share: 13, status: 200, call: refresh },
  { name: 'sign-out', share: 3, status: 200, call: signOut },
  { name: 'sign-in with a password', share: 0.5, status: 200, call: ({ signIn }) => post(paths.signIn, signIn()) },
  {
    name: 'reset',
    share: 0.5,
    status: 200,
    call: ({ token }) => post(paths.resetPassword, { token: token(), password: `lantern meadow ${++sent} river` }),
  },
  {
    name: 'forgot-password',
    share: 2,
    status: 200,
    call: ({ signIn }) =>
      post(paths.forgotPassword, { email: ++sent % 2 ? signIn().email : `nobody-${sent}@example.com` }),
  },
  {
    name: 'connection of an address',
    share: 2,
    status: 200,
    call: () => ({
      ...post(paths.findSsoConnection, new URLSearchParams({ email: 'ada@example.org' })),
      headers: { Accept: 'application/json' },
    }),
  },
  { name: 'sign-in with OpenID Connect', share: 2, status: 303, signIn: 'oidc' },
  { name: 'sign-in with SAML', share: 2, status: 303, signIn: 'saml' },
  {
    name: 'home page',
    share: 6,
    status: 200,
    call: () => ({ method: 'GET', path: '/', headers: cookieOf(anySession()) }),
  },
  { name: 'landing page', share: 7, status: 200, call: () => ({ method: 'GET', path: '/sso/callback?code=x' }) },
  { name: 'reset page', share: 3, status: 200, call: () => ({ method: 'GET', path: '/reset-password?token=x' }) },
  {
    name: 'reset page of a valid link',
    share: 2,
    status: 200,
    call: ({ unusedToken }) => ({ method: 'GET', path: `/reset-password?token=${unusedToken()}` }),
  },
  { name: 'sign-in page', share: 4, status: 200, call: () => ({ method: 'GET', path: '/sign-in' }) },
  {
    name: 'page for a forgotten password',
    share: 1,
    status: 200,
    call: () => ({ method: 'GET', path: '/forgot-password' }),
  },
]

const sessions: Session[] = []
let sent = 0

function post(path: string, body: object): Call {
  return { method: 'POST', path, body }
}

function exchange(code: string): Call {
  const received = (body: string) => {
    sessions.push(JSON.parse(body))
    if (sessions.length > keptSessions) sessions.shift()
  }
  return { ...post(paths.exchangeSsoCode, { code }), received }
}

const anySession = () => sessions[Math.floor(Math.random() * sessions.length)]!
const cookieOf = ({ token }: Session) => ({ Cookie: `session=${token}` })

function bearer(method: string, path: string): Call {
  return { method, path, headers: { Authorization: `Bearer ${anySession().token}` } }
}

/** Takes a session, so that no other request renews it meanwhile. */
function takeSession(): Session {
  const [session] = sessions.splice(Math.floor(Math.random() * sessions.length), 1)
  if (!session) throw new Error('no session is left: the servers respond too slowly')
  return session
}

function refresh(): Call {
  const { refreshToken } = takeSession()
  return { ...post(paths.refreshSession, { refreshToken }), received: (body) => void sessions.push(JSON.parse(body)) }
}

function signOut(): Call {
  const { token } = takeSession()
  return { ...post(paths.signOut, {}), headers: { Authorization: `Bearer ${token}` } }
}

async function main(): Promise<void> {
  log('Building the product and the floor …')
  const [floorBuild, productBuild] = [buildFloor(), buildProduct()]
  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const database = await openDatabase(postgres.url, `bench_soak_${Date.now()}`, 100_000, log)
  const mailbox = await startMailbox()
  const openid = await startProgram<{ issuer: string }>('openid-provider.ts')
  const settings = {
    DATABASE_URL: database.url,
    SESSION_SIGNING_KEYS: newSigningKeys(),
    CONNECTION_SECRETS_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: mailbox.smtpUrl,
    MAIL_FROM: 'login@example.com',
    RATE_LIMIT: 'in-process',
    TRUSTED_PROXIES: '1',
    PASSWORD_SIGN_IN: 'true',
    LOG_LEVEL: 'warn',
  }
  Object.assign(process.env, { ...settings, PUBLIC_URL: benchUrl }) // for the connections that this process adds
  const servers = await Promise.all(
    [productBuild, productBuild, floorBuild].map((built) => startServer(built, settings)),
  )
  try {
    const [first, second, floor] = servers as [Server, Server, Server]
    await soak([first, second], floor, await secretsOf(database), await connect(openid.message.issuer))
  } finally {
    for (const server of servers) await server.stop()
    await openid.stop()
    mailbox.stop()
    await database.drop()
    await postgres.release()
  }
}

/** Returns functions that sign in through a connection of each kind, which it adds. */
async function connect(issuer: string): Promise<SignIns> {
  const { oidcSlug, saml, samlSlug } = await connectProviders(issuer)
  // Imported here, because they read the settings.
  const { Visitor } = await import('../e2e/support/sso-visitor')
  const { responseTo, SamlVisitor } = await import('../e2e/support/saml-visitor')
  return {
    oidc: ({ url }) => new Visitor(url).signIn(oidcSlug),
    saml: async ({ url }) => {
      const visitor = new SamlVisitor(url)
      const begun = await visitor.begin(samlSlug)
      await visitor.deliver(begun, responseTo(saml, begun))
    },
  }
}

/** Issues secrets in batches, ahead of their use. */
async function secretsOf(database: Database): Promise<Secrets & { refill: () => Promise<void> }> {
  const batches = { code: { size: 5_000, left: [] as string[] }, token: { size: 300, left: [] as string[] } }
  const refill = async () => {
    for (const [kind, batch] of Object.entries(batches)) {
      if (batch.left.length > batch.size / 2) continue
      const next = await (kind === 'code' ? database.newCodes(batch.size) : database.newTokens(batch.size))
      for (let count = 0; count < batch.size; count++) batch.left.push(next())
    }
  }
  await refill()
  return {
    refill,
    code: () => batches.code.left.pop()!,
    token: () => batches.token.left.pop()!,
    unusedToken: () => batches.token.left[0]!, // used as the last
    signIn: await database.newSignIns(),
  }
}

async function soak(
  products: Server[],
  floor: Server,
  secrets: Secrets & { refill: () => Promise<void> },
  signIns: SignIns,
): Promise<void> {
  const attempt = (product: Server, kind: (typeof mix)[number]) =>
    'signIn' in kind ? timed(signIns[kind.signIn](product)) : send(product, kind.call(secrets))
  for (let count = 0; count < keptSessions; count++) await send(products[count % 2]!, exchange(secrets.code()))

  log('Measuring what they can do …')
  const refilling = setInterval(() => secrets.refill().catch((error: Error) => log(error.message)), 1_000).unref()
  let done = 0
  const until = performance.now() + capacityMs
  const worker = async (index: number) => {
    while (performance.now() < until) {
      await attempt(products[index % 2]!, pick())
      done++
    }
  }
  await Promise.all(Array.from({ length: 32 }, (_, index) => worker(index)))
  const capacity = done / (capacityMs / 1_000)
  const rate = loadShare * capacity
  log(`${capacity.toFixed(0)} requests/s; going on with ${rate.toFixed(0)} for ${minutes} minutes …`)

  console.log('| minute | requests/s | p50 ms | p99 ms | wrong statuses | memory MB of each process | of the floor |')
  console.log('|---:|---:|---:|---:|---|---|---:|')
  const rows: number[][] = []
  for (let minute = 1; minute <= minutes; minute++) {
    const times: number[] = []
    const wrong: Record<string, number> = {}
    const count = await during(60_000, rate, () => {
      const kind = pick()
      const product = products[sent % products.length]!
      if (sent % 10 === 0) void send(floor, post('/api/query', { code: 'x' }))
      return attempt(product, kind).then(({ status, ms }) => {
        times.push(ms)
        if (status === kind.status) return
        const name = `${kind.name} ${status}`
        wrong[name] = (wrong[name] ?? 0) + 1
      })
    })
    times.sort((a, b) => a - b)
    const memory = [...products, floor].map(({ process }) => usageOf(process).memoryMb)
    const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
    rows.push([minute, p99, ...memory])
    const cells = [minute, (count / 60).toFixed(0), p50.toFixed(1), p99.toFixed(0), JSON.stringify(wrong)]
    const megabytes = memory.map((each) => each.toFixed(0))
    console.log(`| ${cells.join(' | ')} | ${megabytes.slice(0, -1).join(', ')} | ${megabytes.at(-1)} |`)
  }
  clearInterval(refilling)
  const calm = rows.filter(([minute]) => minute! > calmAfterMinutes)
  if (calm.length < 3) return
  const [ofP99, ...ofMemory] = [1, 2, 3, 4].map((column) => slope(calm.map((row) => [row[0]!, row[column]!])))
  console.log(`
Growth per minute after the first ${calmAfterMinutes}, and its standard error: p99 ${ofP99} ms; memory ${ofMemory
    .slice(0, 2)
    .join(' and ')} MB, of the floor ${ofMemory[2]} MB.
The mix in percent: ${mix.map(({ name, share }) => `${name} ${share}`).join(', ')}.`)
}

/** Calls `act` at a steady rate, without waiting for it, and then waits for all. Returns how often it did. */
async function during(ms: number, perSecond: number, act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  const running = new Set<Promise<void>>()
  let count = 0
  for (let elapsed = 0; elapsed < ms; elapsed = performance.now() - startedAt) {
    for (const due = (elapsed / 1_000) * perSecond; count < due; count++) {
      const call = act().finally(() => running.delete(call))
      running.add(call)
    }
    await sleep(5)
  }
  await Promise.all(running)
  return count
}

function pick() {
  let left = Math.random() * 100
  for (const kind of mix) {
    left -= kind.share
    if (left < 0) return kind
  }
  return mix[0]!
}

/** Visitors throw unless they get where they should. */
async function timed(signIn: Promise<unknown>): Promise<Result> {
  const startedAt = performance.now()
  const status = await signIn.then(
    () => 303,
    () => 0,
  )
  return { status, ms: performance.now() - startedAt }
}

const agent = new Agent({ keepAlive: true, maxSockets: 128 })

/** Sends a request as one of many clients. A lost connection has the status 0. */
function send(server: Server, { method, path, headers, body, received }: Call): Promise<Result> {
  const client = ++sent % clients
  const isForm = body instanceof URLSearchParams
  const content = isForm ? String(body) : body && JSON.stringify(body)
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const request = httpRequest(server.url + path, {
      agent,
      method,
      headers: {
        'X-Forwarded-For': `10.0.${client >> 8}.${client & 255}`,
        ...headers,
        ...(content && {
          'Content-Type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          'Content-Length': Buffer.byteLength(content),
          Origin: benchUrl,
        }),
      },
    })
    request.on('error', () => resolve({ status: 0, ms: performance.now() - startedAt }))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', () => resolve({ status: 0, ms: performance.now() - startedAt }))
      response.on('end', () => {
        if (response.statusCode === 200) received?.(Buffer.concat(chunks).toString())
        resolve({ status: response.statusCode!, ms: performance.now() - startedAt })
      })
    })
    request.end(content)
  })
}

/** The text of the slope of the line with the least squares, and of its standard error. */
function slope(points: number[][]): string {
  const mean = (column: number) => points.reduce((sum, point) => sum + point[column]!, 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const sum = (of: (point: number[]) => number) => points.reduce((total, point) => total + of(point), 0)
  const spread = sum((point) => (point[0]! - x) ** 2)
  const value = sum((point) => (point[0]! - x) * (point[1]! - y)) / spread
  const residue = sum((point) => (point[1]! - y - value * (point[0]! - x)) ** 2)
  return `${value.toFixed(2)} ± ${Math.sqrt(residue / (points.length - 2) / spread).toFixed(2)}`
}

main().catch((error: Error) => {
  console.error(error.message)
  process.exitCode = 1
})
