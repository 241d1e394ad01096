import { createHash, randomBytes, randomUUID } from 'node:crypto'
import bcrypt from 'bcryptjs'
import * as paths from '../../lib/contract/paths'
import { makeRefreshToken, readRefreshToken } from '../../lib/session/refresh-token'
import { type BreakablePostgres, startBreakablePostgres } from '../support/breakable-postgres'
import { documentedFetch, UndocumentedResponse } from '../support/documented'
import { exchangePath, expect, keepSecret, newAddress, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { type Server, startServer } from '../support/server'

test.describe.configure({ mode: 'serial' })

const boundMs = 12_000 // the pool's time-out or the longest statement, with a margin for a busy machine
const sha256 = (secret: string) => createHash('sha256').update(secret).digest()
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Outcome = {
  secret: string
  password?: string
  status: number | 'cut off'
  body: Record<string, any>
  headers?: Headers
}

let postgres: BreakablePostgres
test.beforeAll(async () => {
  postgres = await startBreakablePostgres()
})
test.afterAll(() => postgres.stop())
test.beforeEach(() => postgres.sql('TRUNCATE users CASCADE; TRUNCATE exchange_codes'))

/** Posts once, without a retry. A closed connection is a result too. */
async function attempt(server: Server, path: string, secret: string, password?: string): Promise<Outcome> {
  const body = path === exchangePath ? { code: secret } : { token: secret, password }
  try {
    const response = await documentedFetch(server.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(boundMs),
    })
    const parsed = (await response.json()) as Record<string, any>
    for (const issued of [parsed.token, parsed.refreshToken]) if (issued) keepSecret(issued)
    return { secret, password, status: response.status, body: parsed, headers: response.headers }
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw new Error(`no response within ${boundMs} ms`)
    if (error instanceof UndocumentedResponse) throw error
    return { secret, password, status: 'cut off', body: {} }
  }
}

/**
 * Issues codes for different users. They are valid for an hour, so that none expires during a test.
 */
async function issueCodes(count: number): Promise<string[]> {
  const codes = Array.from({ length: count }, () => keepSecret(randomBytes(32).toString('base64url')))
  await postgres.sql(
    `WITH new_user AS (INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, $1) RETURNING id),
     numbered AS (SELECT id, row_number() OVER () AS number FROM new_user)
     INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT hash, id, now() + interval '1 hour' FROM numbered JOIN unnest($2::bytea[]) WITH ORDINALITY AS hashes (hash, number) USING (number)`,
    [count, codes.map(sha256)],
  )
  return codes
}

async function issueTokens(count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => keepSecret(randomBytes(32).toString('base64url')))
  await postgres.sql(
    `WITH new_user AS (INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, $1) RETURNING id),
     session AS (INSERT INTO sessions (user_id, expires_at) SELECT id, now() + interval '12 hours' FROM new_user),
     numbered AS (SELECT id, row_number() OVER () AS number FROM new_user)
     INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT hash, id, now() + interval '1 hour' FROM numbered JOIN unnest($2::bytea[]) WITH ORDINALITY AS hashes (hash, number) USING (number)`,
    [count, tokens.map(sha256)],
  )
  return tokens
}

/**
 * Sends each secret once, with many concurrent clients. Runs the events in `at` after that many
 * responses.
 */
async function workThrough(
  secrets: string[],
  clients: number,
  send: (secret: string) => Promise<Outcome>,
  at: Record<number, () => Promise<void>>,
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
      if (outcome.status !== 200) await sleep(250) // as a client that honors Retry-After, but shorter
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await events
  return outcomes
}

const balance = `SELECT
  (SELECT count(*)::int FROM exchange_codes WHERE used_at IS NOT NULL) AS used,
  (SELECT count(*)::int FROM sessions) AS sessions,
  (SELECT count(*)::int FROM exchange_codes JOIN sessions ON id = session_id AND sessions.user_id = exchange_codes.user_id) AS matched`

const codeState = `SELECT used_at IS NOT NULL AS used, session_id, revoked_at IS NOT NULL AS revoked FROM exchange_codes LEFT JOIN sessions ON id = session_id WHERE code_hash = $1`

async function killAndRestart(): Promise<void> {
  postgres.kill()
  await sleep(500)
  await postgres.restart()
}

const tokenState = 'SELECT used_at IS NOT NULL AS used FROM reset_tokens WHERE token_hash = $1'

test('1,000 codes, 50 clients, two servers; PostgreSQL killed twice and shut down once, a server killed: no partial effects', async () => {
  const servers = await Promise.all([
    startServer({ DATABASE_URL: postgres.url }),
    startServer({ DATABASE_URL: postgres.url }),
  ])
  const codes = await issueCodes(1_000)
  let turn = 0
  const outcomes = await workThrough(codes, 50, (code) => attempt(servers[turn++ % 2]!, exchangePath, code), {
    100: killAndRestart,
    500: async () => {
      const { url, process } = servers[1]!
      process.kill('SIGKILL')
      servers[1] = await startServer({ DATABASE_URL: postgres.url, PORT: new URL(url).port })
    },
    550: killAndRestart,
    800: async () => {
      await postgres.shutDown()
      await sleep(500)
      await postgres.restart()
    },
  })

  const statuses = new Set(outcomes.map(({ status }) => status))
  expect(statuses.has(200) && statuses.has(503)).toBe(true)
  for (const status of statuses) expect([200, 503, 'cut off']).toContain(status) // no valid code was rejected, and nothing failed with a 500
  const books = (await postgres.sql(balance))[0]!
  expect(books).toEqual({
    used: books.used,
    sessions: books.used,
    matched: books.used,
  })
  expect(books.used).toBeGreaterThanOrEqual(outcomes.filter(({ status }) => status === 200).length)

  const doubtful: Outcome[] = []
  for (const outcome of outcomes) {
    const [code] = await postgres.sql(codeState, [sha256(outcome.secret)])
    if (outcome.status === 200) {
      const { sid } = JSON.parse(Buffer.from(outcome.body.token.split('.')[1], 'base64url').toString())
      expect(code).toEqual({ used: true, session_id: sid, revoked: false })
      expect(readRefreshToken(outcome.body.refreshToken)).toEqual({ sessionId: sid, generation: 0 })
    } else if (outcome.status === 503 && outcome.body.outcome === undefined) {
      expect(code, 'a 503 that says that nothing was changed').toEqual({
        used: false,
        session_id: null,
        revoked: false,
      })
      expect(outcome.headers!.get('retry-after')).toMatch(/^\d+$/)
    } else doubtful.push(outcome)
  }

  // If the outcome was unknown, either the code still works, or it started a session whose tokens
  // were never delivered. Reuse of the code then revokes that session.
  await postgres.sql(`UPDATE exchange_codes SET used_at = used_at - interval '11 seconds'`)
  for (const { secret } of outcomes.filter(({ status }) => status !== 200)) {
    const [before] = await postgres.sql(codeState, [sha256(secret)])
    const again = await attempt(servers[0]!, exchangePath, secret)
    const [after] = await postgres.sql(codeState, [sha256(secret)])
    if (before!.used) expect([again.status, after!.revoked]).toEqual([400, true])
    else expect([again.status, after!.used, after!.revoked]).toEqual([200, true, false])
  }
  console.log(
    `${books.used} used at once; ${outcomes.length - books.used} still worked; ${doubtful.length} of unknown outcome`,
  )
  await Promise.all(servers.map((server) => server.stop()))
})

test('60 resets while PostgreSQL is killed and frozen: every used token changed the password and revoked all sessions, without partial effects', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url })
  const tokens = await issueTokens(60)
  const outcomes = await workThrough(tokens, 12, (token) => attempt(server, resetPath, token, newPassword()), {
    15: killAndRestart,
    35: async () => {
      postgres.freeze()
      await sleep(1_500)
      postgres.thaw()
    },
  })
  for (const { secret, password, status, body } of outcomes) {
    const [row] = await postgres.sql(
      `SELECT used_at IS NOT NULL AS spent, password_hash, password_changed_at = used_at AS together, count(*) FILTER (WHERE revoked_at IS NULL)::int AS alive
       FROM reset_tokens JOIN users ON users.id = reset_tokens.user_id JOIN sessions ON sessions.user_id = users.id WHERE token_hash = $1 GROUP BY 1, 2, 3`,
      [sha256(secret)],
    )
    expect([200, 503]).toContain(status)
    if (status === 200) expect(row!.spent).toBe(true)
    if (status === 503 && body.outcome === undefined)
      expect(row!.spent, 'a 503 that says that nothing was changed').toBe(false)
    if (row!.spent) {
      expect(row).toMatchObject({ together: true, alive: 0 })
      expect(await bcrypt.compare(password!, row!.password_hash)).toBe(true)
    } else {
      expect(row).toEqual({ spent: false, password_hash: null, together: null, alive: 1 })
      expect((await attempt(server, resetPath, secret, newPassword())).status).toBe(200)
    }
  }
  await server.stop()
})

test('PostgreSQL freezes in the middle of a reset: nothing is changed, and the next user of the connection is not affected', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url, DATABASE_POOL_SIZE: '1' })
  const [[code], [token]] = [await issueCodes(1), await issueTokens(1)]
  const password = newPassword()
  const holding = postgres.sql(
    `BEGIN; SELECT 1 FROM users JOIN reset_tokens ON user_id = id WHERE token_hash = '\\x${sha256(token!).toString('hex')}' FOR UPDATE OF users; SELECT pg_sleep(60)`,
  )
  holding.catch(() => {}) // terminated below
  const first = attempt(server, resetPath, token!, password)
  await expect
    .poll(() => postgres.sql(`SELECT 1 FROM pg_stat_activity WHERE usename = 'app' AND wait_event_type = 'Lock'`), {
      timeout: 10_000,
    })
    .toHaveLength(1) // inside the transaction
  postgres.freeze()
  const { status, body } = await first
  expect([status, body.code, body.outcome]).toEqual([503, 'SERVICE_UNAVAILABLE', undefined])
  await sleep(6_000) // for anything that may still be sent on that connection
  postgres.thaw()
  await releaseTables()
  await holding.catch(() => {})

  expect((await attempt(server, exchangePath, code!)).status).toBe(200)
  expect((await postgres.sql(codeState, [sha256(code!)]))[0]!.used).toBe(true)
  expect((await postgres.sql(tokenState, [sha256(token!)]))[0]!.used).toBe(false)
  expect((await attempt(server, resetPath, token!, password)).status).toBe(200)
  expect((await postgres.sql(tokenState, [sha256(token!)]))[0]!.used).toBe(true)
  await server.stop()
})

test('a server freezes in the middle of a reset: PostgreSQL frees its locks, and nothing is changed', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url })
  const [token] = await issueTokens(1)
  const password = newPassword()
  const holding = postgres.sql(`BEGIN; SELECT 1 FROM users FOR UPDATE; SELECT pg_sleep(60)`)
  holding.catch(() => {}) // terminated below
  const backends = (state: string) =>
    postgres.sql(`SELECT 1 FROM pg_stat_activity WHERE usename = 'app' AND ${state}`).then(({ length }) => length)
  // without the time limit of `attempt`: the server is frozen for ten seconds
  const first = postTo(server.url + resetPath, { token, password }, { 'X-Forwarded-For': newAddress() })
  await expect.poll(() => backends(`wait_event_type = 'Lock'`), { timeout: 10_000, intervals: [50] }).toBe(1)
  server.process.kill('SIGSTOP')
  try {
    await releaseTables() // the transaction of the server locks the user now
    await holding.catch(() => {})
    await expect.poll(() => backends(`state = 'idle in transaction'`), { intervals: [50] }).toBe(1)
    await postgres.sql(`SET lock_timeout = '60s'; SELECT 1 FROM users FOR UPDATE`) // waits until PostgreSQL has ended it
    expect(await backends(`state = 'idle in transaction'`)).toBe(0)
  } finally {
    server.process.kill('SIGCONT')
  }
  const { status, body } = await first
  expect([status, body.code, body.outcome]).toEqual([503, 'SERVICE_UNAVAILABLE', undefined])
  expect((await postgres.sql(tokenState, [sha256(token!)]))[0]!.used).toBe(false)
  expect((await attempt(server, resetPath, token!, password)).status).toBe(200)
  await server.stop()
})

test('a connection is lost during a look-up: 503, and the outcome is known', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url, PASSWORD_SIGN_IN: 'true' })
  const [token, other] = await issueTokens(2)
  const holding = postgres.sql(`BEGIN; LOCK TABLE users, reset_tokens; SELECT pg_sleep(60)`)
  holding.catch(() => {}) // terminated below
  await sleep(300)
  const outcomes = [
    attempt(server, resetPath, token!, 'short'), // looks the user up
    attempt(server, resetPath, other!, newPassword()), // counts the attempt
    postTo(server.url + paths.signIn, { email: 'ada@example.com', password: 'x' }, { 'X-Forwarded-For': newAddress() }),
  ]
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE usename = 'app' AND wait_event_type = 'Lock'`
  await expect.poll(() => postgres.sql(waiting), { intervals: [50] }).toHaveLength(outcomes.length)
  postgres.unplug()
  for (const { status, body } of await Promise.all(outcomes))
    expect([status, body.code, body.outcome]).toEqual([503, 'SERVICE_UNAVAILABLE', undefined])
  postgres.plug()
  await releaseTables()
  await holding.catch(() => {})
  await server.stop()
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.includes('"status":503'))
  expect(lines.map((line) => JSON.parse(line).cause.code).filter((code) => code === '57014')).toEqual([]) // no time-out
})

const troubles: Record<string, { begin: () => Promise<unknown>; end: () => Promise<unknown> }> = {
  unreachable: { begin: async () => postgres.unplug(), end: async () => postgres.plug() },
  frozen: { begin: async () => postgres.freeze(), end: async () => postgres.thaw() },
  'shut down': { begin: () => postgres.shutDown(), end: () => postgres.restart() },
  'read-only, as a replica is after a failover': {
    begin: () => postgres.sql(`ALTER ROLE app SET default_transaction_read_only = on; ${disconnectServers}`),
    end: () => postgres.sql(`ALTER ROLE app RESET default_transaction_read_only; ${disconnectServers}`),
  },
  'out of connections': {
    begin: () => postgres.sql(`ALTER ROLE app CONNECTION LIMIT 0; ${disconnectServers}`),
    end: () => postgres.sql('ALTER ROLE app CONNECTION LIMIT -1'),
  },
  'too slow': {
    begin: () => holdTables(),
    end: () => releaseTables(),
  },
}
const disconnectServers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`
let holding: Promise<unknown> | undefined

/** Locks the tables for longer than any statement waits. */
async function holdTables(): Promise<void> {
  holding = postgres.sql(`BEGIN; LOCK TABLE exchange_codes, reset_tokens; SELECT pg_sleep(60); COMMIT`).catch(() => {})
  await sleep(300)
}
async function releaseTables(): Promise<void> {
  await postgres.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`,
  )
  await holding
}

for (const [what, { begin, end }] of Object.entries(troubles)) {
  test(`PostgreSQL ${what}: 503 within the time limit, no code or token used, and automatic recovery`, async () => {
    const server = await startServer({ DATABASE_URL: postgres.url })
    const [warm, ...codes] = await issueCodes(13)
    const tokens = await issueTokens(4)
    expect((await attempt(server, exchangePath, warm!)).status).toBe(200)
    await begin()
    const during = await Promise.all([
      ...codes.map((code) => attempt(server, exchangePath, code)),
      ...tokens.map((token) => attempt(server, resetPath, token, newPassword())),
    ])
    const alive = await fetch(`${server.url}/api/health`)
    const ready = await fetch(`${server.url}/api/health/ready`, { signal: AbortSignal.timeout(boundMs) })
    await end()

    if (what === 'too slow') expect(during.map(({ body }) => body.outcome)).toEqual(during.map(() => undefined)) // PostgreSQL times out first
    for (const { status, body, headers } of during) {
      expect([status, body.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      expect(Number(headers!.get('retry-after'))).toBeGreaterThan(0)
      expect(JSON.stringify(body)).not.toMatch(/prisma|postgres|ECONN|127\.0\.0\.1|app:app/i)
    }
    expect(alive.status).toBe(200)
    expect(ready.status).toBe(what === 'too slow' ? 200 : 503) // waiting for a lock does not make the database unavailable
    await expect.poll(async () => (await fetch(`${server.url}/api/health/ready`)).status, { timeout: 20_000 }).toBe(200)

    for (const { secret, password, body } of during) {
      const used = async () =>
        (await postgres.sql(password ? tokenState : codeState, [sha256(secret)]))[0]!.used as boolean
      const again = () =>
        password ? attempt(server, resetPath, secret, password) : attempt(server, exchangePath, secret)
      if (body.outcome === undefined) expect(await used()).toBe(false)
      if (!(await used())) expect([(await again()).status, await used()]).toEqual([200, true])
    }
    const books = (
      await postgres.sql(
        balance.replace('FROM sessions)', 'FROM sessions WHERE id IN (SELECT session_id FROM exchange_codes))'),
      )
    )[0]!
    expect(books).toEqual({
      used: books.used,
      sessions: books.used,
      matched: books.used,
    })
    expect(server.process.exitCode).toBeNull()
    await server.stop()
  })
}

test('a page that reads the database is a 503 within its time limit, and one line of the log', async () => {
  const pageMs = 300
  const server = await startServer({ DATABASE_URL: postgres.url, PAGE_DATABASE_TIMEOUT_MS: String(pageMs) })
  const refresh = keepSecret(makeRefreshToken({ sessionId: randomUUID(), generation: 0 }))
  const pages = [
    ['/sign-in', ''],
    ['/sign-in?connection=acme', ''],
    ['/', `refresh=${refresh}`],
  ] as const
  const open = (path: string, cookie: string) => fetch(server.url + path, { headers: { Cookie: cookie } })
  for (const name of ['unreachable', 'frozen'] as const) {
    for (const [path, cookie] of pages) expect((await open(path, cookie)).status, path).toBe(200)
    await troubles[name]!.begin()
    for (const [path, cookie] of pages) {
      const begunAt = performance.now()
      const response = await open(path, cookie)
      expect(response.status, `${name}: ${path}`).toBe(503)
      expect(performance.now() - begunAt).toBeLessThan(pageMs + 1_000)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(response.headers.get('content-security-policy')).toContain(`default-src 'none'`)
      expect(await response.text()).toContain('This page isn’t available right now')
    }
    expect((await open('/', '')).status, 'a page that reads nothing').toBe(200)
    await troubles[name]!.end()
    await expect.poll(async () => (await open('/sign-in', '')).status).toBe(200)
  }
  await server.stop()
  const [listening, ...lines] = server.output().trim().split('\n')
  expect(listening).toContain('Listening on')
  const logged = lines.map((line) => JSON.parse(line))
  const failed = logged.filter(({ status }) => status === 503)
  expect(failed.length).toBeGreaterThanOrEqual(2 * pages.length) // more while PostgreSQL comes back
  for (const line of failed)
    expect(line).toMatchObject({ level: 'error', method: 'GET', route: 'page', code: 'SERVICE_UNAVAILABLE' })
})

test('a database without our tables is not ready', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url })
  const ready = async () => (await documentedFetch(`${server.url}/api/health/ready`)).status
  expect(await ready()).toBe(200)
  await postgres.sql('ALTER TABLE exchange_codes RENAME TO exchange_codes_gone')
  expect(await ready()).toBe(503)
  await postgres.sql('ALTER TABLE exchange_codes_gone RENAME TO exchange_codes')
  expect(await ready()).toBe(200)
  await server.stop()
})

test('behind a pooler, the server sets no time-outs, which would affect other clients: those of the role apply', async () => {
  await postgres.sql(`ALTER ROLE app SET statement_timeout = '8s'`)
  const outcomeWith = async (settings: Record<string, string>) => {
    const server = await startServer({ DATABASE_URL: postgres.url, ...settings })
    const [code] = await issueCodes(1)
    await holdTables()
    const { status, body } = await attempt(server, exchangePath, code!)
    await releaseTables()
    await server.stop()
    return [status, body.outcome]
  }
  expect(await outcomeWith({ DATABASE_POOLED: 'true' })).toEqual([503, 'unknown']) // the server timed out first
  expect(await outcomeWith({ DIRECT_DATABASE_URL: postgres.url })).toEqual([503, undefined]) // this setting is for migrations only
  await postgres.sql('ALTER ROLE app RESET statement_timeout')
})

test('parameters in a database error are not logged', async () => {
  const server = await startServer({ DATABASE_URL: postgres.url })
  const [[code], [token, other, quoted], password] = [await issueCodes(1), await issueTokens(3), newPassword()]
  await postgres.sql('ALTER TABLE sessions RENAME TO sessions_gone')
  const outcomes = [await attempt(server, exchangePath, code!), await attempt(server, resetPath, token!, password)]
  await postgres.sql('ALTER TABLE sessions_gone RENAME TO sessions; ALTER TABLE users RENAME TO users_gone')
  outcomes.push(await attempt(server, resetPath, other!, password))
  await postgres.sql('ALTER TABLE users_gone RENAME TO users')
  // PostgreSQL quotes the password hash: invalid input syntax for type integer: "$2b$12$…"
  await postgres.sql('ALTER TABLE users ALTER password_hash TYPE integer USING NULL')
  outcomes.push(await attempt(server, resetPath, quoted!, password))
  await postgres.sql('ALTER TABLE users ALTER password_hash TYPE text')
  for (const { status, body } of outcomes) expect([status, body.code]).toEqual([500, 'INTERNAL_ERROR'])
  await server.stop()
  expect(server.output().match(/"code":"INTERNAL_ERROR"/g)).toHaveLength(4)
  expect(server.output()).toContain('"code":"22P02"')
  for (const secret of [code!, token!, other!, quoted!, password]) {
    for (const text of [secret, sha256(secret).toString('base64'), sha256(secret).toString('hex')])
      expect(server.output()).not.toContain(text)
  }
  expect(server.output()).not.toContain('$2b$')
})
