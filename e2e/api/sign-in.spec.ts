import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { project } from '../../bin/local'
import { passwordLimits } from '../../lib/contract/lifetimes'
import * as paths from '../../lib/contract/paths'
import { hashSecret, newSecret } from '../../lib/secret'
import { documentedFetch } from '../support/documented'
import {
  type ApiResponse,
  expect,
  keepSecret,
  newAddress,
  newPassword,
  postTo,
  resetPath,
  type Sql,
  test,
} from '../support/fixtures'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { newPasswordUser, type PasswordUser } from '../support/password-user'
import { type Server, startServer } from '../support/server'

test.describe.configure({ mode: 'serial' }) // one server, whose work is counted

let database: OwnDatabase
let server: Server
const sql: Sql = (text, values) => database.sql(text, values)
test.beforeAll(async () => {
  database = await openOwnDatabase()
  server = await startServer({
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
    NODE_OPTIONS: `--import=file://${project}e2e/support/hash-work.mjs`,
  })
})
test.afterAll(async () => {
  await server?.stop()
  await database?.drop()
})

const wrong = 'not the password'
const hashesOfFailure = 9
const roundsOfFailure = 2 ** 12 + 2 ** 7

type Attempt = { email: string; password: string }

/** Signs in from a network of its own, unless `headers` has another. */
function signIn({ email, password }: Attempt, headers: Record<string, string> = {}): Promise<ApiResponse> {
  return postTo(server.url + paths.signIn, { email, password }, { 'X-Forwarded-For': newAddress(), ...headers })
}

async function statusOf(attempt: Attempt, headers?: Record<string, string>): Promise<number> {
  return (await signIn(attempt, headers)).status
}

/** The bcrypt costs of the work that the server did for `act`. */
async function workOf(act: () => Promise<unknown>): Promise<number[]> {
  const before = server.output().length
  await act()
  const printed = () => server.output().slice(before)
  return [...printed().matchAll(/hashed 2\^(\d+)/g)].map(([, cost]) => Number(cost))
}

const sum = (costs: number[]) => costs.reduce((total, cost) => total + 2 ** cost, 0)

const sessionsOf = ({ id }: { id: string }) =>
  sql('SELECT id, revoked_at, connection_id, expires_at - created_at AS lifetime FROM sessions WHERE user_id = $1', [
    id,
  ])

/** The cookies that a response sets, as a browser would send them. */
function cookiesOf({ headers }: ApiResponse): Record<string, string> {
  const pairs = headers.getSetCookie().map((cookie) => cookie.split(';')[0]!.split('=') as [string, string])
  for (const [, value] of pairs) keepSecret(value)
  return Object.fromEntries(pairs)
}

async function knownCookie(user: PasswordUser): Promise<string> {
  return `known=${cookiesOf(await signIn(user)).known}`
}

test('the path does not exist unless the setting says so', async ({ url, user }) => {
  for (const method of ['POST', 'GET', 'OPTIONS'] as const) {
    const response = await fetch(url + paths.signIn, {
      method,
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      ...(method === 'POST' && { body: JSON.stringify({ email: user.email, password: wrong }) }),
    })
    expect([method, response.status, (await response.json()).code]).toEqual([method, 404, 'NOT_FOUND'])
  }
})

test('a user is found whose domain is stored in ASCII or in Unicode, whichever was typed', async () => {
  const host = `${randomUUID()}.example.com`
  for (const stored of ['bücher', 'xn--bcher-kva']) {
    const user = await newPasswordUser(sql)
    const name = randomUUID()
    await sql('UPDATE users SET email = $2 WHERE id = $1', [user.id, `${name}@${stored}.${host}`])
    for (const typed of ['Bücher', 'bücher', 'XN--bcher-kva'])
      expect(await statusOf({ ...user, email: `${name}@${typed}.${host}` }), `${stored} ${typed}`).toBe(200)
  }
})

test('the right password starts a session, like an exchange', async () => {
  const user = await newPasswordUser(sql)
  let response!: ApiResponse
  expect(
    await workOf(async () => (response = await signIn({ ...user, email: ` ${user.email.toUpperCase()} ` }))),
  ).toEqual([12])
  const { status, headers, body } = response
  expect(status).toBe(200)
  expect(body).toEqual({ ok: true, token: expect.any(String), refreshToken: expect.any(String) })
  const [session] = await sessionsOf(user)
  expect(session).toMatchObject({ revoked_at: null, connection_id: null, lifetime: { days: 7 } })

  const [token, refresh, known] = headers.getSetCookie()
  expect(token).toMatch(/^session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/)
  expect(refresh).toMatch(/^refresh=[\w-]{48}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
  expect(known).toMatch(/^known=[\w-]{48}; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax$/)
  expect(headers.getSetCookie().length).toBe(3)

  const who = await documentedFetch(server.url + paths.getSession, {
    headers: { Authorization: `Bearer ${body.token}`, 'X-Forwarded-For': newAddress() },
  })
  expect(await who.json()).toMatchObject({ user: { id: user.id, email: user.email }, sessionId: session!.id })
  const renewed = await postTo(server.url + paths.refreshSession, { refreshToken: body.refreshToken })
  expect(renewed.status).toBe(200)

  const line = server
    .output()
    .split('\n')
    .find((text) => text.includes(headers.get('x-request-id')!))
  expect(JSON.parse(line!)).toMatchObject({ route: 'sign-in', status: 200, userId: user.id, sessionId: session!.id })
  expect(server.output().toLowerCase()).not.toContain(user.email)
})

test('over https, all three cookies belong to this host alone', async () => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const https = await startServer({
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
    PUBLIC_URL: 'https://login.example.com',
  })
  const response = await postTo(https.url + paths.signIn, user)
  cookiesOf(response)
  await https.stop()
  const names = ['session', 'refresh', 'known']
  expect(response.headers.getSetCookie()).toEqual(
    names.map((name) =>
      expect.stringMatching(new RegExp(`^__Host-${name}=.*; Path=/; .*; HttpOnly; SameSite=Lax; Secure$`)),
    ),
  )
})

test('a sign-in ends the sessions of both cookies, and a rejected one does not', async () => {
  const user = await newPasswordUser(sql)
  const other = await newPasswordUser(sql)
  const [session, refresh] = [await signIn(other), await signIn(other)]
  const headers = { Cookie: `session=${session.body.token}; refresh=${refresh.body.refreshToken}` }
  const revoked = async () => (await sessionsOf(other)).map(({ revoked_at }) => revoked_at !== null)
  expect(await statusOf({ ...user, password: wrong }, headers)).toBe(400)
  expect(await revoked()).toEqual([false, false])
  expect(await statusOf(user, headers)).toBe(200)
  expect(await revoked()).toEqual([true, true])
  expect((await sessionsOf(user))[0]!.revoked_at).toBeNull()
})

const longest = `${'lantern meadow otter '.repeat(3)}123456789`

/** Every reason for which a sign-in is rejected. */
const reasons: Record<string, () => Promise<Attempt>> = {
  'a wrong password': async () => ({ ...(await newPasswordUser(sql)), password: wrong }),
  'an empty password': async () => ({ ...(await newPasswordUser(sql)), password: '' }),
  'an unknown user': async () => ({ email: `${randomUUID()}@example.com`, password: wrong }),
  'a disabled user': async () => changed('disabled_at = now()'),
  'a user who may only use SSO': async () => changed('sso_only = true'),
  'a user without a password': async () => changed('password_hash = NULL'),
  'a hash that bcrypt does not know': async () => changed(`password_hash = '$2y$12$' || repeat('.', 53)`),
  'a hash that is damaged': async () => changed(`password_hash = 'x'`),
  ...Object.fromEntries(
    [4, 5, 6, 7, 8, 9, 10, 11].map((cost) => [
      `a hash of cost ${cost} and a wrong password`,
      async () => ({ ...(await newPasswordUser(sql, { cost })), password: wrong }),
    ]),
  ),
  'over 72 bytes': async () => ({ ...(await newPasswordUser(sql, { password: longest })), password: `${longest}x` }),
  'over 72 bytes, with an older hash': async () => {
    const user = await newPasswordUser(sql, { cost: 4, password: longest })
    return { ...user, password: `${longest}x` }
  },
  'a NUL byte': async () => {
    const user = await newPasswordUser(sql)
    return { ...user, password: `${user.password}\0` }
  },
  'a lone surrogate': async () => {
    const user = await newPasswordUser(sql, { password: 'lantern \ufffd meadow' })
    return { ...user, password: 'lantern \ud800 meadow' }
  },
}

async function changed(assignment: string): Promise<PasswordUser> {
  const user = await newPasswordUser(sql)
  await sql(`UPDATE users SET ${assignment} WHERE id = $1`, [user.id])
  return user
}

test('every reason has the same response and the same work', async () => {
  test.setTimeout(120_000)
  expect(Buffer.byteLength(longest)).toBe(72)
  const headersOf = ({ headers }: ApiResponse) => [...headers.keys()].filter((name) => name !== 'date').sort()
  let first: ApiResponse | undefined
  for (const [reason, make] of Object.entries(reasons)) {
    const attempt = await make()
    let response!: ApiResponse
    const work = await workOf(async () => (response = await signIn(attempt)))
    first ??= response
    const { requestId, ...body } = response.body
    expect([reason, response.status, body]).toEqual([
      reason,
      400,
      { ok: false, code: 'SIGN_IN_INVALID', message: 'The e-mail address or the password is wrong.' },
    ])
    expect(headersOf(response), reason).toEqual(headersOf(first))
    expect(response.headers.getSetCookie(), reason).toEqual([])
    expect([work.length, sum(work)], reason).toEqual([hashesOfFailure, roundsOfFailure])
    expect(
      await sql('SELECT 1 FROM sessions WHERE user_id = (SELECT id FROM users WHERE email = $1)', [attempt.email]),
    ).toEqual([])
    const line = server
      .output()
      .split('\n')
      .find((text) => text.includes(String(requestId)))
    expect(JSON.parse(line!)).not.toHaveProperty('userId')
  }
})

test('a wrong password for a hash of a higher cost than today costs that hash alone', async () => {
  const user = await newPasswordUser(sql, { cost: 13 })
  const work = await workOf(async () => expect(await statusOf({ ...user, password: wrong })).toBe(400))
  expect(work).toEqual([13])
})

test('72 bytes are accepted, and what is no e-mail address is not counted', async () => {
  expect(await statusOf(await newPasswordUser(sql, { password: longest }))).toBe(200)
  const before = await sql('SELECT count(*)::int AS rows FROM password_attempts')
  for (const email of ['', 'ada', 'a@example.com, b@example.com']) {
    const { status, body } = await signIn({ email, password: wrong })
    expect([status, body.issues?.[0]]).toEqual([
      400,
      { path: ['email'], code: 'invalid_email', message: expect.any(String) },
    ])
  }
  expect(await sql('SELECT count(*)::int AS rows FROM password_attempts')).toEqual(before)
})

test('a success raises the cost of an older hash, once', async () => {
  const user = await newPasswordUser(sql, { cost: 6 })
  await sql(`UPDATE users SET password_changed_at = '2020-01-01' WHERE id = $1`, [user.id])
  expect(await workOf(() => signIn(user))).toEqual([6, 12])
  const [stored] = await sql('SELECT password_hash, password_changed_at FROM users WHERE id = $1', [user.id])
  expect(stored!.password_hash).toMatch(/^\$2b\$12\$/)
  expect(await bcrypt.compare(user.password, stored!.password_hash)).toBe(true)
  expect(stored!.password_changed_at).toEqual(new Date('2020-01-01'))
  expect(await workOf(() => signIn(user))).toEqual([12])
})

/** Holds back the sign-in of a user between its verification and its session, and changes the user meanwhile. */
async function changeMeanwhile(user: PasswordUser, text: string, values: unknown[]): Promise<ApiResponse> {
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [user.id])
    await holder.query(text, values)
    const pending = signIn(user)
    const waits = `SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`
    const { rows } = await holder.query('SELECT pg_backend_pid() AS pid')
    // On another connection: within a transaction, pg_stat_activity does not change.
    await expect.poll(async () => (await sql(waits, [rows[0].pid])).length, { intervals: [50] }).toBe(1)
    await holder.query('COMMIT')
    return await pending
  } finally {
    await holder.end()
  }
}

test('a reset between the verification and the session wins', async () => {
  const user = await newPasswordUser(sql)
  const other = await bcrypt.hash(newPassword(), 12)
  const change = 'UPDATE users SET password_hash = $2 WHERE id = $1'
  expect((await changeMeanwhile(user, change, [user.id, other])).body.code).toBe('SIGN_IN_INVALID')
  expect(await sessionsOf(user)).toEqual([])
  expect(await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])).toEqual([{ password_hash: other }])
})

test('so does a user who is disabled, or may only use SSO', async () => {
  for (const assignment of ['disabled_at = now()', 'sso_only = true']) {
    const user = await newPasswordUser(sql)
    const response = await changeMeanwhile(user, `UPDATE users SET ${assignment} WHERE id = $1`, [user.id])
    expect([assignment, response.body.code]).toEqual([assignment, 'SIGN_IN_INVALID'])
    expect(await sessionsOf(user)).toEqual([])
  }
})

test('another hash of the same password does no harm: concurrent sign-ins raise the cost together', async () => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const raised = await bcrypt.hash(user.password, 12)
  const change = 'UPDATE users SET password_hash = $2 WHERE id = $1'
  expect((await changeMeanwhile(user, change, [user.id, raised])).status).toBe(200)
  expect((await sessionsOf(user)).length).toBe(1)
})

test('a reset ends the session, and only the new password works', async () => {
  const user = await newPasswordUser(sql)
  expect(await statusOf(user)).toBe(200)
  const password = newPassword()
  const token = keepSecret(newSecret())
  await sql(`INSERT INTO reset_tokens (token_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`, [
    Buffer.from(hashSecret(token)),
    user.id,
  ])
  expect((await postTo(server.url + resetPath, { token, password })).status).toBe(200)
  expect((await sessionsOf(user))[0]!.revoked_at).not.toBeNull()
  expect(await statusOf(user)).toBe(400)
  expect(await statusOf({ ...user, password })).toBe(200)
})

const { perAccount, perNetwork, perAccountAndNetwork, perKnownBrowser, windowSeconds } = passwordLimits
const times = <Result>(count: number, act: (index: number) => Result) => Array.from({ length: count }, (_, i) => act(i))

/** The counters, except those with some keys. */
const countersBut = (keys: string[]) =>
  sql(
    `SELECT encode(key_hash, 'hex') AS key, count FROM password_attempts WHERE NOT encode(key_hash, 'hex') = ANY ($1)`,
    [keys],
  )

/** Signs in, and returns the keys of the counters that are new since. */
async function newKeys(attempt: Attempt, headers: Record<string, string>): Promise<string[]> {
  const before = (await countersBut([])).map(({ key }) => key)
  await signIn(attempt, headers)
  return (await countersBut(before)).map(({ key }) => key)
}

function expectLimited({ status, body, headers }: ApiResponse): void {
  const { requestId: _, ...rest } = body
  expect([status, rest]).toEqual([
    429,
    {
      ok: false,
      code: 'RATE_LIMITED',
      message: 'There were too many sign-ins with wrong passwords. Wait as long as the Retry-After header says.',
    },
  ])
  const seconds = Number(headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(windowSeconds - 120)
  expect(seconds).toBeLessThanOrEqual(windowSeconds)
}

test('of 50 parallel guesses, 10 are verified; a known browser of the owner still gets in', async () => {
  test.setTimeout(120_000)
  for (const isKnown of [true, false]) {
    const user = isKnown ? await newPasswordUser(sql) : { email: `${randomUUID()}@example.com`, password: wrong }
    const cookie = isKnown ? await knownCookie(user as PasswordUser) : ''
    const address = newAddress()
    const sameNetwork = address.replace(/\d+$/, '254')
    let responses: ApiResponse[] = []
    const before = await countersBut([])
    const work = await workOf(async () => {
      const guess = () => signIn({ ...user, password: `guess ${randomUUID()}` }, { 'X-Forwarded-For': address })
      responses = await Promise.all(times(50, guess))
    })
    const limited = responses.filter(({ status }) => status === 429)
    expect([responses.filter(({ status }) => status === 400).length, limited.length]).toEqual([10, 40])
    expect(sum(work)).toBe(10 * roundsOfFailure)
    const counts = (await countersBut(before.map(({ key }) => key))).map(({ count }) => count)
    expect(counts, 'the others were taken back').toEqual(isKnown ? [10, 10] : [10, 10, 10])
    limited.forEach(expectLimited)
    const none = await workOf(async () => {
      expectLimited(await signIn(user, { 'X-Forwarded-For': sameNetwork })) // even with the right password
    })
    expect(none).toEqual([])
    if (!isKnown) continue
    expect(await statusOf(user), 'from another network').toBe(200)
    expect(await statusOf(user, { 'X-Forwarded-For': address, Cookie: cookie }), 'from a known browser').toBe(200)
  }
})

test('attempts that the full hashing queue rejects leave no rows of counters behind', async () => {
  // The queue holds more on a machine with more processors, and a network has 60 attempts.
  const addresses = times(4, newAddress)
  const before = (await countersBut([])).map(({ key }) => key)
  const guess = async (address: string) => ({
    address,
    status: await statusOf({ email: `${randomUUID()}@example.com`, password: wrong }, { 'X-Forwarded-For': address }),
  })
  const guesses = await Promise.all(times(50, () => addresses.map(guess)).flat())
  const verified = guesses.filter(({ status }) => status === 400)
  expect(guesses.filter(({ status }) => status === 503).length).toBeGreaterThan(5)
  const ofAccounts = 2 * verified.length // each for the account, and for the account and the network
  const networks = new Set(verified.map(({ address }) => address)).size
  expect(await countersBut(before)).toHaveLength(ofAccounts + networks)
})

test('a rejected attempt takes nothing back, even if all of its limits are reached', async () => {
  const user = await newPasswordUser(sql)
  const cookie = await knownCookie(user)
  for (const Cookie of ['', cookie]) {
    const headers = { 'X-Forwarded-For': newAddress(), Cookie }
    const keys = await newKeys({ ...user, password: wrong }, headers)
    const ofKeys = `encode(key_hash, 'hex') = ANY ($1)`
    await sql(`UPDATE password_attempts SET count = 100 WHERE ${ofKeys}`, [keys])
    for (let look = 0; look < 3; look++) expectLimited(await signIn(user, headers))
    const counts = await sql(`SELECT count FROM password_attempts WHERE ${ofKeys}`, [keys])
    expect(counts).toEqual(keys.map(() => ({ count: 100 })))
  }
})

test('of two guesses that are counted at the same time, with room for one, one is verified', async () => {
  const user = { ...(await newPasswordUser(sql)), password: wrong }
  const headers = { 'X-Forwarded-For': newAddress() }
  const keys = await newKeys(user, headers)
  const ofKeys = `encode(key_hash, 'hex') = ANY ($1)`
  await sql(`UPDATE password_attempts SET count = $2 WHERE ${ofKeys}`, [keys, perAccountAndNetwork - 1])
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  try {
    // Both see a count below the limit, and wait to raise it.
    await holder.query('BEGIN')
    await holder.query(`SELECT 1 FROM password_attempts WHERE ${ofKeys} FOR UPDATE`, [keys])
    const pending = times(2, () => statusOf(user, headers))
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await sql(waiting)).length, { intervals: [50] }).toBe(2)
    await holder.query('COMMIT')
    expect((await Promise.all(pending)).sort()).toEqual([400, 429])
  } finally {
    await holder.end()
  }
  const counts = await sql(`SELECT count FROM password_attempts WHERE ${ofKeys}`, [keys])
  expect(counts, 'the other was taken back').toEqual(times(3, () => ({ count: perAccountAndNetwork })))
})

test('an account has 100 attempts from all networks, and rejected ones use up none of them', async () => {
  test.setTimeout(120_000)
  const user = await newPasswordUser(sql)
  const cookie = await knownCookie(user)
  const headers = { 'X-Forwarded-For': newAddress() }
  const keys = await newKeys({ ...user, password: wrong }, headers)
  for (const _ of times(perAccountAndNetwork + 5, () => 0)) await signIn({ ...user, password: wrong }, headers)
  const counters = () =>
    sql(`SELECT count, xmin::text FROM password_attempts WHERE encode(key_hash, 'hex') = ANY ($1)`, [keys])
  const reached = await counters()
  expect(reached.map(({ count }) => count)).toEqual([perAccountAndNetwork, perAccountAndNetwork]) // that of the account is older
  await Promise.all(times(20, () => signIn({ ...user, password: wrong }, headers)))
  expect(await counters(), 'not even counted and taken back').toEqual(reached)

  // as if nine more networks had tried
  await sql(`UPDATE password_attempts SET count = $1 WHERE count = $2 AND NOT encode(key_hash, 'hex') = ANY ($3)`, [
    perAccount - 1,
    perAccountAndNetwork,
    keys,
  ])
  expect(await statusOf({ ...user, password: wrong })).toBe(400)
  expectLimited(await signIn({ ...user, password: wrong }))
  expectLimited(await signIn(user))
  expect(await statusOf(user, { Cookie: cookie })).toBe(200)
})

test('a network has 60 attempts for all accounts, and successes are not among them', async () => {
  test.setTimeout(180_000)
  const user = await newPasswordUser(sql, { cost: 4 })
  const headers = { 'X-Forwarded-For': newAddress() }
  for (const _ of times(perAccountAndNetwork + 3, () => 0)) expect(await statusOf(user, headers)).toBe(200)
  const guess = () => signIn({ email: `${randomUUID()}@example.com`, password: wrong }, headers)
  const before = await sql('SELECT count(*)::int AS rows FROM password_attempts WHERE count > 0')
  const statuses = []
  for (let batch = 0; batch < 8; batch++)
    statuses.push(...(await Promise.all(times(10, guess))).map(({ status }) => status))
  expect([
    statuses.filter((status) => status === 400).length,
    statuses.filter((status) => status === 429).length,
  ]).toEqual([perNetwork, 20])
  const after = await sql('SELECT count(*)::int AS rows FROM password_attempts WHERE count > 0')
  expect(after[0]!.rows - before[0]!.rows, 'rows of made-up accounts').toBeLessThanOrEqual(2 * perNetwork + 1)
  expectLimited(await signIn(user, headers))
  expect(await statusOf(user)).toBe(200)
})

test('a known browser has 10 attempts of its own, for its account alone, for 180 days', async () => {
  test.setTimeout(120_000)
  const [user, other] = [await newPasswordUser(sql), await newPasswordUser(sql)]
  const cookie = await knownCookie(user)
  const address = newAddress()
  const from = (more = {}) => ({ 'X-Forwarded-For': address, ...more })
  const guess = (attempt: Attempt, headers: Record<string, string>) => signIn({ ...attempt, password: wrong }, headers)
  await Promise.all(times(perKnownBrowser, () => guess(user, from({ Cookie: cookie }))))
  expectLimited(await signIn(user, from({ Cookie: cookie })))
  expect(await statusOf(user, from()), 'without the cookie, the network has all its attempts').toBe(200)

  const again = await knownCookie(user) // another browser
  expect(await statusOf(user, from({ Cookie: again }))).toBe(200)
  const renewed = cookiesOf(await signIn(user, from({ Cookie: again }))).known!
  expect(Buffer.from(renewed, 'base64url').subarray(0, 16)).toEqual(
    Buffer.from(again.slice(6), 'base64url').subarray(0, 16),
  )
  const expiry = Buffer.from(renewed, 'base64url').readUInt32BE(16)
  expect(Math.abs(expiry - Date.now() / 1000 - 180 * 24 * 3600)).toBeLessThan(60)

  // the cookie of another account, or a forged one, is worth nothing
  const forged = Buffer.from(again.slice(6), 'base64url')
  forged[0]! ^= 1
  for (const worthless of [await knownCookie(other), `known=${forged.toString('base64url')}`, 'known=x', 'known=']) {
    const limited = { email: `${randomUUID()}@example.com`, password: wrong }
    const target = worthless.startsWith('known=') && worthless.length > 20 ? user : limited
    const network = newAddress()
    await Promise.all(times(perAccountAndNetwork, () => guess(target, { 'X-Forwarded-For': network })))
    expectLimited(await signIn(target, { 'X-Forwarded-For': network, Cookie: worthless }))
  }
})

test('after a new password, a browser is unknown until its user signs in there', async () => {
  const user = await newPasswordUser(sql)
  const cookie = await knownCookie(user)
  const headers = { 'X-Forwarded-For': newAddress() }
  const changed = (ago: string) =>
    sql('UPDATE users SET password_changed_at = now() - $2::interval WHERE email = $1', [user.email, ago])
  await Promise.all(times(perAccountAndNetwork, () => signIn({ ...user, password: wrong }, headers)))
  expect(await statusOf(user, { ...headers, Cookie: cookie })).toBe(200)
  await changed('0 seconds')
  expectLimited(await signIn(user, { ...headers, Cookie: cookie }))
  await changed('2 seconds') // the cookie has whole seconds
  expect(await statusOf(user, { ...headers, Cookie: await knownCookie(user) })).toBe(200)
})

test('a window ends 15 minutes after its first attempt, and its rows are deleted', async () => {
  const user = await newPasswordUser(sql)
  const headers = { 'X-Forwarded-For': newAddress() }
  await Promise.all(times(perAccountAndNetwork, () => signIn({ ...user, password: wrong }, headers)))
  expectLimited(await signIn(user, headers))
  await sql(`UPDATE password_attempts SET expires_at = now() - interval '1 millisecond'`)
  expect(await statusOf({ ...user, password: wrong }, headers)).toBe(400)
  const live = await sql('SELECT count FROM password_attempts WHERE expires_at > now()')
  expect(live).toEqual(times(3, () => ({ count: 1 })))
  const expired = 'SELECT 1 FROM password_attempts WHERE expires_at < now()'
  const before = (await sql(expired)).length
  expect(before).toBeGreaterThan(25)
  for (const _ of times(2, () => 0)) await signIn({ ...user, password: wrong }, headers)
  await expect.poll(async () => (await sql(expired)).length).toBeLessThanOrEqual(before - 20)
})

test('the table holds no e-mail address and no IP address, not even a plain hash of one', async () => {
  const columns = await sql(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_name = 'password_attempts' ORDER BY 1`,
  )
  expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'count integer',
    'expires_at timestamp with time zone',
    'key_hash bytea',
  ])
})
