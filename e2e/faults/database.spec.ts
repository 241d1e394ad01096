import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import bcrypt from 'bcryptjs'
import * as routes from '../../lib/contract/routes'
import { makeRefreshToken, readRefreshToken } from '../../lib/session/tokens'
import {
  type BreakablePostgres,
  startBreakablePostgres,
} from '../support/databases/breakable-postgres'
import { documentedFetch, UndocumentedResponse } from '../support/documents/documented'
import {
  exchangePath,
  expect,
  newPassword,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { type Server, startServer } from '../support/servers/server'

const boundMs = 10_000 // longer than every shortened timeout, even on a busy machine
const resultMs = 1_500 // the shortened time limit for a result
const sha256 = (secret: string) => createHash('sha256').update(secret).digest()

type Outcome = {
  secret: string
  password: string | undefined
  status: number | 'cut off'
  body: Record<string, any>
  headers?: Headers
}

let postgres: BreakablePostgres
let settings: Record<string, string>
/** Most tests share this server. It must recover after each of them. */
let shared: Server
test.beforeAll(async () => {
  postgres = await startBreakablePostgres()
  settings = {
    DATABASE_URL: postgres.url,
    ...preload('short-timeouts.mjs', 'cheap-hash.mjs'),
  }
  shared = await startServer({ ...settings, PASSWORD_SIGN_IN: 'true' })
})
test.afterAll(async () => {
  await shared.stop()
  await postgres.stop()
})
test.beforeEach(() =>
  postgres.sql('TRUNCATE users CASCADE; TRUNCATE exchange_codes, events'),
)

/** Posts once, without a retry. A closed connection is also a valid result. */
async function attempt(
  server: Server,
  path: string,
  secret: string,
  password?: string,
): Promise<Outcome> {
  const body = path === exchangePath ? { code: secret } : { token: secret, password }
  try {
    const response = await documentedFetch(server.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(boundMs),
    })
    const parsed = (await response.json()) as Record<string, any>
    for (const issued of [parsed.token, parsed.refreshToken])
      if (issued) keepSecret(issued)
    return {
      secret,
      password,
      status: response.status,
      body: parsed,
      headers: response.headers,
    }
  } catch (error) {
    if ((error as Error).name === 'TimeoutError')
      throw new Error(`no response within ${boundMs} ms`)
    if (error instanceof UndocumentedResponse) throw error
    return { secret, password, status: 'cut off', body: {} }
  }
}

/** Issues codes, or reset tokens, of different users. They are valid for an hour. */
async function issue(path: string, count: number): Promise<string[]> {
  const secrets = Array.from({ length: count }, () =>
    keepSecret(randomBytes(32).toString('base64url')),
  )
  const columns =
    path === exchangePath ? 'exchange_codes (code_hash' : 'reset_tokens (token_hash'
  await postgres.sql(
    `WITH new_user AS (INSERT INTO users (email, email_domain) SELECT gen_random_uuid() || '@example.com', 'example.com' FROM generate_series(1, $1) RETURNING id),
     numbered AS (SELECT id, row_number() OVER () AS number FROM new_user)
     INSERT INTO ${columns}, user_id, expires_at) SELECT hash, id, now() + interval '1 hour' FROM numbered JOIN unnest($2::bytea[]) WITH ORDINALITY AS hashes (hash, number) USING (number)`,
    [count, secrets.map(sha256)],
  )
  return secrets
}

/** Returns the state of each code in the order of `codes`. */
const codeStates = (codes: string[]) =>
  postgres.sql(
    `SELECT used_at IS NOT NULL AS used, session_id, revoked_at IS NOT NULL AS revoked
     FROM unnest($1::bytea[]) WITH ORDINALITY AS given (hash, number)
       JOIN exchange_codes ON code_hash = hash LEFT JOIN sessions ON id = session_id ORDER BY number`,
    [codes.map(sha256)],
  )

/** Returns whether a code or a reset token is used. */
async function isUsed(path: string, secret: string): Promise<boolean> {
  const [table, column] =
    path === exchangePath
      ? ['exchange_codes', 'code_hash']
      : ['reset_tokens', 'token_hash']
  const [row] = await postgres.sql(
    `SELECT used_at IS NOT NULL AS used FROM ${table} WHERE ${column} = $1`,
    [sha256(secret)],
  )
  return row!.used
}

/**
 * Throws unless each used code belongs to exactly one session of its user, each session to
 * one code, and each event of a sign-in to one session.
 */
async function expectOneSessionPerCode(): Promise<number> {
  const [counts] = await postgres.sql(`SELECT
    (SELECT count(*)::int FROM exchange_codes WHERE used_at IS NOT NULL) AS used,
    (SELECT count(*)::int FROM sessions) AS sessions,
    (SELECT count(*)::int FROM exchange_codes JOIN sessions ON id = session_id AND sessions.user_id = exchange_codes.user_id) AS matched,
    (SELECT count(DISTINCT session_id)::int FROM events WHERE kind = 'signed_in') AS recorded`)
  const { used } = counts!
  expect(counts).toEqual({ used, sessions: used, matched: used, recorded: used })
  return used
}

/**
 * Sends each secret once, with several clients. Runs each event in `at` when the number
 * of responses is its key.
 */
async function sendEach(
  secrets: string[],
  clients: number,
  send: (secret: string) => Promise<Outcome>,
  at: Record<number, () => Promise<void>> = {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const queue = [...secrets]
  let events = Promise.resolve()
  const client = async () => {
    for (let secret = queue.shift(); secret; secret = queue.shift()) {
      const outcome = await send(secret)
      outcomes.push(outcome)
      const event = at[outcomes.length]
      if (event) events = events.then(event)
      // a client would wait for Retry-After, but the test waits less
      if (outcome.status !== 200) await sleep(250)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await events
  return outcomes
}

const killAndRestart = () => postgres.restartAfter(postgres.kill)

test('exchanges have no partial effects when PostgreSQL and one of two servers are killed', async () => {
  const servers = await Promise.all([startServer(settings), startServer(settings)])
  const codes = await issue(exchangePath, 300)
  let turn = 0
  const outcomes = await sendEach(
    codes,
    25,
    (code) => attempt(servers[turn++ % 2]!, exchangePath, code),
    {
      30: killAndRestart,
      150: async () => {
        const { url, process } = servers[1]!
        process.kill('SIGKILL')
        servers[1] = await startServer({ ...settings, PORT: new URL(url).port })
      },
      175: killAndRestart,
      240: () => postgres.restartAfter(postgres.shutDown),
    },
  )

  const statuses = new Set(outcomes.map(({ status }) => status))
  expect(statuses.has(200) && statuses.has(503)).toBe(true)
  for (const status of statuses) expect([200, 503, 'cut off']).toContain(status) // neither a 400 nor a 500
  const used = await expectOneSessionPerCode()
  expect(used).toBeGreaterThanOrEqual(
    outcomes.filter(({ status }) => status === 200).length,
  )

  const states = await codeStates(outcomes.map(({ secret }) => secret))
  for (const [index, { status, body, headers }] of outcomes.entries()) {
    if (status === 200) {
      const { sid } = JSON.parse(
        Buffer.from(body.token.split('.')[1], 'base64url').toString(),
      )
      expect(states[index]).toEqual({ used: true, session_id: sid, revoked: false })
      expect(readRefreshToken(body.refreshToken)).toEqual({
        sessionId: sid,
        generation: 0,
      })
    } else if (status === 503 && body.outcome === undefined) {
      expect(states[index], 'nothing was changed').toEqual({
        used: false,
        session_id: null,
        revoked: false,
      })
      expect(headers!.get('retry-after')).toMatch(/^\d+$/)
    }
  }

  // If the outcome was unknown, either the code is still valid, or it started a session
  // whose tokens were lost. Reuse of the code then revokes that session.
  await postgres.sql(
    `UPDATE exchange_codes SET used_at = used_at - interval '11 seconds'`,
  )
  const wasUsed = new Map(
    outcomes.map(({ secret }, index) => [secret, states[index]!.used as boolean]),
  )
  const failed = outcomes
    .filter(({ status }) => status !== 200)
    .map(({ secret }) => secret)
  const repeated = await sendEach(failed, 10, (code) =>
    attempt(servers[0]!, exchangePath, code),
  )
  const statesAfter = await codeStates(repeated.map(({ secret }) => secret))
  for (const [index, { secret, status }] of repeated.entries()) {
    const { used, revoked } = statesAfter[index]!
    expect([status, used, revoked]).toEqual(
      wasUsed.get(secret) ? [400, true, true] : [200, true, false],
    )
  }
  console.log(`${used} of ${codes.length} codes used the first time`)
  await Promise.all(servers.map((server) => server.stop()))
})

test('resets have no partial effects when PostgreSQL is killed or frozen', async () => {
  const tokens = await issue(resetPath, 150)
  await postgres.sql(
    `INSERT INTO sessions (user_id, expires_at) SELECT id, now() + interval '12 hours' FROM users`,
  )
  const outcomes = await sendEach(
    tokens,
    12,
    (token) => attempt(shared, resetPath, token, newPassword()),
    {
      30: killAndRestart,
      110: async () => {
        postgres.freeze()
        await sleep(500)
        postgres.thaw()
      },
    },
  )
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 503]))
  const rows = await postgres.sql(
    `SELECT used_at IS NOT NULL AS used, password_hash, password_changed_at = used_at AS together,
       (SELECT count(*)::int FROM sessions WHERE sessions.user_id = users.id AND revoked_at IS NULL) AS live
     FROM unnest($1::bytea[]) WITH ORDINALITY AS given (hash, number)
       JOIN reset_tokens ON token_hash = hash JOIN users ON users.id = user_id ORDER BY number`,
    [outcomes.map(({ secret }) => sha256(secret))],
  )
  for (const [index, { secret, password, status, body }] of outcomes.entries()) {
    const { password_hash, ...row } = rows[index]!
    if (status === 200) expect(row.used).toBe(true)
    else if (body.outcome === undefined)
      expect(row.used, 'nothing was changed').toBe(false)
    if (row.used) {
      expect(row).toEqual({ used: true, together: true, live: 0 })
      expect(await bcrypt.compare(password!, password_hash)).toBe(true)
    } else {
      expect([row, password_hash]).toEqual([
        { used: false, together: null, live: 1 },
        null,
      ])
      expect((await attempt(shared, resetPath, secret, newPassword())).status).toBe(200)
    }
  }
})

const waitingServers = `SELECT 1 FROM pg_stat_activity WHERE usename = 'app' AND wait_event_type = 'Lock'`

/** Holds the locks of a statement until the returned function is called. */
async function hold(statement: string): Promise<() => Promise<void>> {
  const holding = postgres.sql(`BEGIN; ${statement}; SELECT pg_sleep(60)`).catch(() => {}) // the query ends below
  await expect
    .poll(
      () => postgres.sql(`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'`),
      { intervals: [50] },
    )
    .toHaveLength(1)
  return async () => {
    await postgres.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`,
    )
    await holding
  }
}

test('when PostgreSQL freezes during a reset, nothing changes, and later uses of the connection succeed', async () => {
  const server = await startServer({ ...settings, DATABASE_POOL_SIZE: '1' })
  const [token, code] = [
    (await issue(resetPath, 1))[0]!,
    (await issue(exchangePath, 1))[0]!,
  ]
  const password = newPassword()
  const release = await hold(
    'SELECT 1 FROM users JOIN reset_tokens ON user_id = id FOR UPDATE OF users',
  )
  const first = attempt(server, resetPath, token, password)
  await expect
    .poll(() => postgres.sql(waitingServers), { intervals: [50] })
    .toHaveLength(1) // the reset waits within its transaction
  postgres.freeze()
  const { status, body } = await first
  expect([status, body.code, body.outcome]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    undefined,
  ])
  await sleep(resultMs) // in case something is still sent on that connection
  postgres.thaw()
  await release()

  expect((await attempt(server, exchangePath, code)).status).toBe(200)
  expect([await isUsed(exchangePath, code), await isUsed(resetPath, token)]).toEqual([
    true,
    false,
  ])
  expect((await attempt(server, resetPath, token, password)).status).toBe(200)
  expect(await isUsed(resetPath, token)).toBe(true)
  await server.stop()
})

test('PostgreSQL releases the locks of a server that freezes during a reset, and nothing changes', async () => {
  const [token] = await issue(resetPath, 1)
  const password = newPassword()
  const release = await hold('SELECT 1 FROM users FOR UPDATE')
  const idle = `SELECT 1 FROM pg_stat_activity WHERE usename = 'app' AND state = 'idle in transaction'`
  const first = attempt(shared, resetPath, token!, password)
  await expect
    .poll(() => postgres.sql(waitingServers), { intervals: [50] })
    .toHaveLength(1)
  shared.process.kill('SIGSTOP')
  try {
    await release() // the transaction of the server locks the user's row now
    await expect.poll(() => postgres.sql(idle), { intervals: [50] }).toHaveLength(1)
    await postgres.sql(`SET lock_timeout = '60s'; SELECT 1 FROM users FOR UPDATE`) // waits until that transaction ends
    expect(await postgres.sql(idle)).toEqual([])
  } finally {
    shared.process.kill('SIGCONT')
  }
  const { status, body } = await first
  expect([status, body.code, body.outcome]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    undefined,
  ])
  expect(await isUsed(resetPath, token!)).toBe(false)
  expect((await attempt(shared, resetPath, token!, password)).status).toBe(200)
})

test('responds with 503 and a known outcome when a connection is lost during a query', async () => {
  const [token, other] = await issue(resetPath, 2)
  const release = await hold('LOCK TABLE users, reset_tokens')
  const logged = shared.output().length
  const outcomes = [
    attempt(shared, resetPath, token!, 'short'), // looks up the user
    attempt(shared, resetPath, other!, newPassword()), // counts the attempt
    postTo(
      shared.url + routes.signIn.path,
      { email: 'ada@example.com', password: 'x' },
      { 'X-Forwarded-For': newAddress() },
    ),
  ]
  await expect
    .poll(() => postgres.sql(waitingServers), { intervals: [50] })
    .toHaveLength(outcomes.length)
  postgres.unplug()
  for (const { status, body } of await Promise.all(outcomes))
    expect([status, body.code, body.outcome]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      undefined,
    ])
  postgres.plug()
  await release()
  const errors = shared.output().slice(logged).split('\n')
  const causes = errors
    .filter((line) => line.includes('"status":503'))
    .map((line) => JSON.parse(line).cause.code)
  expect(causes).not.toContain('57014') // the code of a timeout
})

const disconnectServers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`
const lockTables = 'LOCK TABLE exchange_codes, reset_tokens'
let release = async () => {}

const faults: Record<string, { begin: () => unknown; end: () => unknown }> = {
  unreachable: { begin: () => postgres.unplug(), end: () => postgres.plug() },
  frozen: { begin: () => postgres.freeze(), end: () => postgres.thaw() },
  'shut down': { begin: () => postgres.shutDown(), end: () => postgres.restart() },
  'read-only, as a replica is after a failover': {
    begin: () =>
      postgres.sql(
        `ALTER ROLE app SET default_transaction_read_only = on; ${disconnectServers}`,
      ),
    end: () =>
      postgres.sql(
        `ALTER ROLE app RESET default_transaction_read_only; ${disconnectServers}`,
      ),
  },
  'out of connections': {
    begin: () => postgres.sql(`ALTER ROLE app CONNECTION LIMIT 0; ${disconnectServers}`),
    end: () => postgres.sql('ALTER ROLE app CONNECTION LIMIT -1'),
  },
  'too slow': {
    begin: async () => (release = await hold(lockTables)),
    end: () => release(),
  },
}

for (const [what, { begin, end }] of Object.entries(faults)) {
  test(`when PostgreSQL is ${what}, responds in time with 503 and the correct outcome, and recovers`, async () => {
    const [warm, ...codes] = await issue(exchangePath, 13)
    const tokens = await issue(resetPath, 4)
    expect((await attempt(shared, exchangePath, warm!)).status).toBe(200)
    await begin()
    const during = await Promise.all([
      ...codes.map((code) => attempt(shared, exchangePath, code)),
      ...tokens.map((token) => attempt(shared, resetPath, token, newPassword())),
    ])
    const live = await fetch(`${shared.url}/api/health`)
    const ready = await fetch(`${shared.url}/api/health/ready`, {
      signal: AbortSignal.timeout(boundMs),
    })
    await end()

    for (const { status, body, headers } of during) {
      expect([status, body.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      if (what === 'too slow')
        expect(body.outcome, 'PostgreSQL times out first').toBe(undefined)
      expect(Number(headers!.get('retry-after'))).toBeGreaterThan(0)
      expect(JSON.stringify(body)).not.toMatch(
        /prisma|postgres|ECONN|127\.0\.0\.1|app:app/i,
      )
    }
    expect(live.status).toBe(200)
    expect(ready.status).toBe(what === 'too slow' ? 200 : 503) // a lock does not make the database unavailable
    await expect
      .poll(async () => (await fetch(`${shared.url}/api/health/ready`)).status, {
        timeout: 20_000,
      })
      .toBe(200)

    for (const { secret, password, body } of during) {
      const path = password ? resetPath : exchangePath
      if (body.outcome === undefined) expect(await isUsed(path, secret)).toBe(false)
      if (await isUsed(path, secret)) continue
      expect((await attempt(shared, path, secret, password)).status).toBe(200)
      expect(await isUsed(path, secret)).toBe(true)
    }
    await expectOneSessionPerCode()
    expect(shared.process.exitCode).toBeNull()
  })
}

test('if the database fails, a page that reads it responds with 503 in time and logs one line', async () => {
  const pageMs = 300
  const server = await startServer({
    ...settings,
    PAGE_DATABASE_TIMEOUT_MS: String(pageMs),
  })
  const refresh = keepSecret(makeRefreshToken({ sessionId: randomUUID(), generation: 0 }))
  const pages = [
    ['/sign-in', ''],
    ['/sign-in?connection=acme', ''],
    ['/', `refresh=${refresh}`],
    ['/account', `refresh=${refresh}`],
  ] as const
  const open = (path: string, cookie: string) =>
    fetch(server.url + path, { headers: { Cookie: cookie } })
  for (const name of ['unreachable', 'frozen'] as const) {
    for (const [path, cookie] of pages)
      expect((await open(path, cookie)).status, path).toBe(200)
    await faults[name]!.begin()
    for (const [path, cookie] of pages) {
      const begunAt = performance.now()
      const response = await open(path, cookie)
      expect(response.status, `${name}: ${path}`).toBe(503)
      expect(performance.now() - begunAt).toBeLessThan(pageMs + 1_000)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(response.headers.get('content-security-policy')).toContain(
        `default-src 'none'`,
      )
      expect(await response.text()).toContain('This page isn’t available right now')
    }
    expect((await open('/', '')).status, 'a page that reads nothing').toBe(200)
    await faults[name]!.end()
    await expect.poll(async () => (await open('/sign-in', '')).status).toBe(200)
  }
  await server.stop()
  const [, ...lines] = server.output().split('Listening on')[1]!.trim().split('\n')
  // there are no lines of a stack trace between them
  const logged = lines.map((line) => JSON.parse(line))
  const failed = logged.filter(({ status }) => status === 503)
  // there can be more while PostgreSQL starts
  expect(failed.length).toBeGreaterThanOrEqual(2 * pages.length)
  for (const line of failed)
    expect(line).toMatchObject({
      level: 'error',
      method: 'GET',
      route: 'page',
      code: 'SERVICE_UNAVAILABLE',
    })
})

test('behind a pooler, sets no timeouts, which would affect other clients, and uses those of the role', async () => {
  await postgres.sql(`ALTER ROLE app SET statement_timeout = '4s'`)
  const outcomeWith = async (more: Record<string, string>) => {
    const server = await startServer({ ...settings, ...more })
    const [code] = await issue(exchangePath, 1)
    const unlock = await hold(lockTables)
    const { status, body } = await attempt(server, exchangePath, code!)
    await unlock()
    await server.stop()
    return [status, body.outcome]
  }
  expect(await outcomeWith({ DATABASE_POOLED: 'true' })).toEqual([503, 'unknown']) // the app's time limit came first
  expect(await outcomeWith({ DIRECT_DATABASE_URL: postgres.url })).toEqual([
    503,
    undefined,
  ]) // this setting affects only migrations
  await postgres.sql('ALTER ROLE app RESET statement_timeout')
})

test('does not log the parameters of a failed statement', async () => {
  const server = await startServer(settings)
  const [[code], [token, other, quoted], password] = [
    await issue(exchangePath, 1),
    await issue(resetPath, 3),
    newPassword(),
  ]
  await postgres.sql('ALTER TABLE sessions RENAME TO sessions_gone')
  const outcomes = [
    await attempt(server, exchangePath, code!),
    await attempt(server, resetPath, token!, password),
  ]
  await postgres.sql(
    'ALTER TABLE sessions_gone RENAME TO sessions; ALTER TABLE users RENAME TO users_gone',
  )
  outcomes.push(await attempt(server, resetPath, other!, password))
  await postgres.sql('ALTER TABLE users_gone RENAME TO users')
  // PostgreSQL's error contains the password hash: invalid input syntax for type integer:
  // "$2b$04$…"
  await postgres.sql(
    'ALTER TABLE users DROP has_password, ALTER password_hash TYPE integer USING NULL',
  )
  outcomes.push(await attempt(server, resetPath, quoted!, password))
  await postgres.sql(
    `ALTER TABLE users ALTER password_hash TYPE text,
       ADD has_password boolean GENERATED ALWAYS AS (password_hash IS NOT NULL) STORED`,
  )
  for (const { status, body } of outcomes)
    expect([status, body.code]).toEqual([500, 'INTERNAL_ERROR'])
  await server.stop()
  expect(server.output().match(/"code":"INTERNAL_ERROR"/g)).toHaveLength(4)
  expect(server.output()).toContain('"code":"22P02"')
  for (const secret of [code!, token!, other!, quoted!, password]) {
    for (const text of [
      secret,
      sha256(secret).toString('base64'),
      sha256(secret).toString('hex'),
    ])
      expect(server.output()).not.toContain(text)
  }
  expect(server.output()).not.toContain('$2b$')
})
