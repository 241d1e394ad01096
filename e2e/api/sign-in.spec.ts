import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { passwordLimits } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { documentedFetch } from '../support/documents/documented'
import {
  type ApiResponse,
  cookiesOf,
  expect,
  newPassword,
  postTo,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'

test.describe.configure({ mode: 'serial' }) // the tests count the work of one server

let database: OwnDatabase
let server: TestServer
const sql: Sql = (text, values) => database.sql(text, values)
test.beforeAll(async ({ serverWith }) => {
  database = await openOwnDatabase()
  server = await serverWith({
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
    ...preload('hash-work.mjs'),
  })
})
test.afterAll(() => database?.drop())

const wrong = 'not the password'
const newUser = (options = {}) => newPasswordUser(sql, { cost: 4, ...options })

const times = <Result>(count: number, act: (index: number) => Result) =>
  Array.from({ length: count }, (_, i) => act(i))

type Attempt = { email: string; password: string }

/** Signs in from a network of its own, unless `headers` contains an IP address. */
function signIn(
  { email, password }: Attempt,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return postTo(
    server.url + routes.signIn.path,
    { email, password },
    { 'X-Forwarded-For': newAddress(), ...headers },
  )
}

async function statusOf(
  attempt: Attempt,
  headers?: Record<string, string>,
): Promise<number> {
  return (await signIn(attempt, headers)).status
}

/** Returns the cost of each bcrypt computation that the server did during `act`. */
async function workOf(act: () => Promise<unknown>): Promise<number[]> {
  const before = (await server.output()).length
  await act()
  const printed = (await server.output()).slice(before)
  return [...printed.matchAll(/hashed 2\^(\d+)/g)].map(([, cost]) => Number(cost))
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

const ofUser =
  'SELECT id, revoked_at, connection_id, device, expires_at - created_at AS life FROM sessions WHERE user_id = $1'
const sessionsOf = ({ id }: { id: string }) => sql(ofUser, [id])

async function knownCookie(user: Attempt): Promise<string> {
  return `known=${cookiesOf(await signIn(user)).known}`
}

test('without PASSWORD_SIGN_IN, the endpoints for passwords and second factors do not exist', async ({
  url,
}) => {
  for (const path of Object.values(routes)
    .map(({ path }) => path)
    .filter((each) => /^\/api.*(sign-in|second-factor)/.test(each)))
    for (const method of ['GET', 'POST'])
      expect((await fetch(url + path, { method })).status, path).toBe(404)
})

test('finds a user by the ASCII and by the Unicode form of the domain, whichever form is stored', async () => {
  const host = `${randomUUID()}.example.com`
  for (const stored of ['bücher', 'xn--bcher-kva']) {
    const user = await newUser()
    const name = randomUUID()
    const domain = `xn--bcher-kva.${host}`
    const update = 'UPDATE users SET email = $2, email_domain = $3 WHERE id = $1'
    await sql(update, [user.id, `${name}@${stored}.${host}`, domain])
    for (const typed of ['Bücher', 'bücher', 'XN--bcher-kva'])
      expect(
        await statusOf({ ...user, email: `${name}@${typed}.${host}` }),
        `${stored} ${typed}`,
      ).toBe(200)
  }
})

test('starts a session for the right password, with the same tokens and cookies as an exchange', async () => {
  const user = await newUser({ cost: 12 })
  let response!: ApiResponse
  const email = ` ${user.email.toUpperCase()} `
  expect(
    await workOf(
      async () =>
        (response = await signIn({ ...user, email }, { 'User-Agent': 'Firefox/140.0' })),
    ),
  ).toEqual([12])
  const { status, headers, body } = response
  expect(status).toBe(200)
  expect(body).toEqual({
    ok: true,
    token: expect.any(String),
    refreshToken: expect.any(String),
  })
  const [session] = await sessionsOf(user)
  expect(session).toMatchObject({
    revoked_at: null,
    connection_id: null,
    device: 'Firefox',
    life: { days: 7 },
  })

  const [token, refresh, known] = headers.getSetCookie()
  expect(token).toMatch(
    /^session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/,
  )
  expect(refresh).toMatch(
    /^refresh=[\w-]{48}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
  )
  expect(known).toMatch(
    /^known=[\w-]{48}; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax$/,
  )
  expect(headers.getSetCookie().length).toBe(3)

  const who = await documentedFetch(server.url + routes.getSession.path, {
    headers: { Authorization: `Bearer ${body.token}`, 'X-Forwarded-For': newAddress() },
  })
  expect(await who.json()).toMatchObject({
    user: { id: user.id, email: user.email },
    sessionId: session!.id,
  })
  const renewed = await postTo(server.url + routes.refreshSession.path, {
    refreshToken: body.refreshToken,
  })
  expect(renewed.status).toBe(200)
  const [began, later] = [body.token!, renewed.body.token!].map(claimsOf)
  expect([began.amr, began.auth_time, later.amr, later.auth_time]).toEqual([
    ['pwd'],
    began.iat,
    ['pwd'],
    began.iat,
  ])

  const [line] = await server.logged(headers.get('x-request-id')!)
  expect(line).toMatchObject({
    route: 'sign-in',
    status: 200,
    userId: user.id,
    sessionId: session!.id,
  })
  expect((await server.output()).toLowerCase()).not.toContain(user.email)
})

test('a successful sign-in ends the sessions of both cookies, and a rejected one ends none', async () => {
  const user = await newPasswordUser(sql)
  const other = await newPasswordUser(sql)
  const [session, refresh] = [await signIn(other), await signIn(other)]
  const headers = {
    Cookie: `session=${session.body.token}; refresh=${refresh.body.refreshToken}`,
  }
  const revoked = async () =>
    (await sessionsOf(other)).map(({ revoked_at }) => revoked_at !== null)
  expect(await statusOf({ ...user, password: wrong }, headers)).toBe(400)
  expect(await revoked()).toEqual([false, false])
  expect(await statusOf(user, headers)).toBe(200)
  expect(await revoked()).toEqual([true, true])
  expect((await sessionsOf(user))[0]!.revoked_at).toBeNull()
})

const longest = `${'lantern meadow otter '.repeat(3)}123456789`

/**
 * Every reason for which a sign-in is rejected. lib/password/hash.spec.ts tests the
 * bcrypt work for other hashes.
 */
const reasons: Record<string, () => Promise<Attempt>> = {
  'a wrong password': async () => ({ ...(await newUser({ cost: 12 })), password: wrong }),
  'an empty password': async () => ({ ...(await newUser({ cost: 12 })), password: '' }),
  'an unknown user': async () => ({
    email: `${randomUUID()}@example.com`,
    password: wrong,
  }),
  'a disabled user': async () => changed('disabled_at = now()'),
  'a user who may only use SSO': async () => changed(`password_policy = 'never'`),
  'a user without a password': async () => changed('password_hash = NULL'),
  'a hash that is damaged': async () => changed(`password_hash = 'x'`),
  'over 72 bytes': async () => ({
    ...(await newUser({ password: longest })),
    password: `${longest}x`,
  }),
}

async function changed(assignment: string): Promise<PasswordUser> {
  const user = await newUser()
  await sql(`UPDATE users SET ${assignment} WHERE id = $1`, [user.id])
  return user
}

test('sends the same response after the same work for every reason of a rejection', async () => {
  expect(Buffer.byteLength(longest)).toBe(72)
  const headersOf = ({ headers }: ApiResponse) =>
    [...headers.keys()].filter((name) => name !== 'date').sort()
  let first: ApiResponse | undefined
  for (const [reason, make] of Object.entries(reasons)) {
    const attempt = await make()
    let response!: ApiResponse
    const work = await workOf(async () => (response = await signIn(attempt)))
    first ??= response
    const { requestId, ...body } = response.body
    const message = 'The email address or the password is wrong.'
    expect([response.status, body], reason).toEqual([
      400,
      { ok: false, code: 'SIGN_IN_INVALID', message },
    ])
    expect(headersOf(response), reason).toEqual(headersOf(first))
    expect(response.headers.getSetCookie(), reason).toEqual([])
    expect(work, reason).toEqual([12])
    const started =
      'SELECT 1 FROM sessions JOIN users ON users.id = user_id WHERE email = $1'
    expect(await sql(started, [attempt.email])).toEqual([])
    const [line] = await server.logged(`${requestId}`)
    expect(line).not.toHaveProperty('userId')
  }
})

test('verifies a hash from PHP for both Unicode forms of the password', async () => {
  const user = await newUser({ password: 'café lantern meadow' })
  await sql(
    `UPDATE users SET password_hash = '$2y' || substr(password_hash, 4) WHERE id = $1`,
    [user.id],
  )
  for (const form of ['NFD', 'NFC'])
    expect(await statusOf({ ...user, password: user.password.normalize(form) })).toBe(200)
  expect(
    await sql('SELECT 1 FROM mails'),
    'about a new browser: the app sends no mail',
  ).toEqual([])
})

test('accepts a password of 72 bytes, and does not count attempts without a valid email address', async () => {
  expect(await statusOf(await newUser({ password: longest }))).toBe(200)
  const before = await sql('SELECT count(*)::int AS rows FROM password_attempts')
  for (const email of ['', 'ada', 'a@example.com, b@example.com']) {
    const { status, body } = await signIn({ email, password: wrong })
    expect([status, body.issues?.[0]?.code]).toEqual([400, 'invalid_email'])
  }
  expect(await sql('SELECT count(*)::int AS rows FROM password_attempts')).toEqual(before)
})

test('a successful sign-in replaces a hash of lower cost', async () => {
  const user = await newUser({ cost: 6 })
  await sql(`UPDATE users SET password_changed_at = '2020-01-01T00:00Z' WHERE id = $1`, [
    user.id,
  ])
  expect(await workOf(() => signIn(user))).toEqual([6, 12])
  const [stored] = await sql(
    'SELECT password_hash, password_changed_at FROM users WHERE id = $1',
    [user.id],
  )
  expect(stored!.password_hash).not.toMatch(/^\$2b\$06\$/)
  expect(await bcrypt.compare(user.password, stored!.password_hash)).toBe(true)
  expect(stored!.password_changed_at).toEqual(new Date('2020-01-01T00:00Z'))
})

/**
 * Calls `act` `count` times while another connection holds locks, and returns the
 * responses.
 */
async function whileLocked(
  lock: (holder: pg.Client) => Promise<unknown>,
  act: () => Promise<ApiResponse>,
  count = 1,
) {
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await lock(holder)
    const pending = Promise.all(times(count, act))
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    // This query uses another connection because pg_stat_activity does not change within
    // a transaction.
    await expect
      .poll(async () => (await sql(waiting)).length, { intervals: [20] })
      .toBe(count)
    await holder.query('COMMIT')
    return await pending
  } finally {
    await holder.end()
  }
}

/**
 * Changes a user after a sign-in has verified the password and before it starts the
 * session.
 */
async function changeMeanwhile(
  user: PasswordUser,
  text: string,
  values: unknown[],
): Promise<ApiResponse> {
  const change = async (holder: pg.Client) => {
    await holder.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [user.id])
    await holder.query(text, values)
  }
  return (await whileLocked(change, () => signIn(user)))[0]!
}

for (const [what, assignment, code] of [
  ['a reset', 'password_hash = $2', 'SIGN_IN_INVALID'],
  ['disabling the user', 'disabled_at = now()', 'SIGN_IN_INVALID'],
  ['restricting the user to SSO', `password_policy = 'never'`, 'SIGN_IN_INVALID'],
  ['raising the cost of the hash', 'password_hash = $2', undefined],
] as const) {
  test(`starts ${code ? 'no' : 'a'} session if ${what} commits after the password was verified`, async () => {
    const user = await newUser()
    const hash = await bcrypt.hash(code ? newPassword() : user.password, 5)
    const values = assignment.includes('$2') ? [user.id, hash] : [user.id]
    const response = await changeMeanwhile(
      user,
      `UPDATE users SET ${assignment} WHERE id = $1`,
      values,
    )
    expect(response.body.code).toBe(code)
    expect(await sessionsOf(user)).toHaveLength(code ? 0 : 1)
    const [stored] = await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])
    if (code && values[1]) expect(stored).toEqual({ password_hash: hash })
  })
}

const { perAccount, perNetwork, perAccountAndNetwork, perKnownBrowser, windowSeconds } =
  passwordLimits

/** Returns all counters except those with these keys. */
const countersBut = (keys: string[]) =>
  sql(
    `SELECT encode(key_hash, 'hex') AS key, count FROM password_attempts WHERE NOT encode(key_hash, 'hex') = ANY ($1)`,
    [keys],
  )

/** Signs in, and returns the keys of the counters that the sign-in has added. */
async function newKeys(
  attempt: Attempt,
  headers: Record<string, string>,
): Promise<string[]> {
  const before = (await countersBut([])).map(({ key }) => key)
  await signIn(attempt, headers)
  return (await countersBut(before)).map(({ key }) => key)
}

function expectLimited({ status, body, headers }: ApiResponse): void {
  const message =
    'There were too many sign-ins with wrong passwords. Wait a few minutes, then try again.'
  expect([status, body]).toEqual([
    429,
    { ok: false, code: 'RATE_LIMITED', message, requestId: expect.any(String) },
  ])
  const seconds = Number(headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(windowSeconds - 120)
  expect(seconds).toBeLessThanOrEqual(windowSeconds)
}

test('verifies only 10 of 50 concurrent guesses, and still signs the user in from a recognized browser', async () => {
  for (const isKnown of [true, false]) {
    const user = isKnown
      ? await newUser()
      : { email: `${randomUUID()}@example.com`, password: wrong }
    const cookie = isKnown ? await knownCookie(user as PasswordUser) : ''
    const address = newAddress()
    const sameNetwork = address.replace(/\d+$/, '254')
    let responses: ApiResponse[] = []
    const before = await countersBut([])
    const work = await workOf(async () => {
      const guess = () =>
        signIn(
          { ...user, password: `guess ${randomUUID()}` },
          { 'X-Forwarded-For': address },
        )
      responses = await Promise.all(times(50, guess))
    })
    const limited = responses.filter(({ status }) => status === 429)
    expect([
      responses.filter(({ status }) => status === 400).length,
      limited.length,
    ]).toEqual([10, 40])
    expect(work.filter((cost) => cost === 12)).toHaveLength(10)
    const counts = (await countersBut(before.map(({ key }) => key))).map(
      ({ count }) => count,
    )
    expect(counts, 'the others were taken back').toEqual(
      isKnown ? [10, 10] : [10, 10, 10],
    )
    limited.forEach(expectLimited)
    const none = await workOf(async () => {
      expectLimited(await signIn(user, { 'X-Forwarded-For': sameNetwork })) // even with the right password
    })
    expect(none).toEqual([])
    if (!isKnown) continue
    expect(await statusOf(user), 'from another network').toBe(200)
    expect(
      await statusOf(user, { 'X-Forwarded-For': address, Cookie: cookie }),
      'from a known browser',
    ).toBe(200)
  }
})

test('attempts that a full hashing queue rejects leave no counters in the database', async () => {
  // slow enough to fill the queue, in hash-work.mjs
  const hash = `$2b$10$${'a'.repeat(53)}`
  const inserted = `INSERT INTO users (email, email_domain, password_hash) SELECT gen_random_uuid() || '@example.com', 'example.com', $1`
  const users = await sql(`${inserted} FROM generate_series(1, 200) RETURNING email`, [
    hash,
  ])
  const addresses = times(4, newAddress) // because a network may make only 60 attempts
  const before = (await countersBut([])).map(({ key }) => key)
  const guesses = await Promise.all(
    users.map(async ({ email }, index) => {
      const address = addresses[index % addresses.length]!
      return {
        address,
        status: await statusOf(
          { email, password: wrong },
          { 'X-Forwarded-For': address },
        ),
      }
    }),
  )
  const verified = guesses.filter(({ status }) => status === 400)
  expect(guesses.filter(({ status }) => status === 503).length).toBeGreaterThan(5)
  // one counter for the account, and one for the account and the network
  const ofAccounts = 2 * verified.length
  const networks = new Set(verified.map(({ address }) => address)).size
  expect(await countersBut(before)).toHaveLength(ofAccounts + networks)
})

test('verifies only one of two concurrent guesses when one attempt is left', async () => {
  const user = { ...(await newUser()), password: wrong }
  const headers = { 'X-Forwarded-For': newAddress() }
  const keys = await newKeys(user, headers)
  const ofKeys = `encode(key_hash, 'hex') = ANY ($1)`
  await sql(`UPDATE password_attempts SET count = $2 WHERE ${ofKeys}`, [
    keys,
    perAccountAndNetwork - 1,
  ])
  // Both guesses read a count below the limit, and then wait to increment it.
  const lock = (holder: pg.Client) =>
    holder.query(`SELECT 1 FROM password_attempts WHERE ${ofKeys} FOR UPDATE`, [keys])
  const responses = await whileLocked(lock, () => signIn(user, headers), 2)
  expect(responses.map(({ status }) => status).sort()).toEqual([400, 429])
  const counts = await sql(`SELECT count FROM password_attempts WHERE ${ofKeys}`, [keys])
  expect(counts, 'the other was taken back').toEqual(
    times(3, () => ({ count: perAccountAndNetwork })),
  )
})

test('allows an account 100 attempts from all networks together, and counts no attempt that a limit rejects', async () => {
  const user = await newUser()
  const cookie = await knownCookie(user)
  const headers = { 'X-Forwarded-For': newAddress() }
  const keys = await newKeys({ ...user, password: wrong }, headers)
  for (const _ of times(perAccountAndNetwork + 5, () => 0))
    await signIn({ ...user, password: wrong }, headers)
  const counters = () =>
    sql(
      `SELECT count, xmin::text FROM password_attempts WHERE encode(key_hash, 'hex') = ANY ($1)`,
      [keys],
    )
  const reached = await counters()
  // The counter of the account is older than this test's guesses, so it is not in `keys`.
  expect(reached.map(({ count }) => count)).toEqual([
    perAccountAndNetwork,
    perAccountAndNetwork,
  ])
  await Promise.all(times(20, () => signIn({ ...user, password: wrong }, headers)))
  expect(await counters(), 'not even counted and taken back').toEqual(reached)

  // As if nine more networks had used their attempts.
  const ofAccount = `count = $2 AND NOT encode(key_hash, 'hex') = ANY ($3)`
  const values = [perAccount - 1, perAccountAndNetwork, keys]
  await sql(`UPDATE password_attempts SET count = $1 WHERE ${ofAccount}`, values)
  expect(await statusOf({ ...user, password: wrong })).toBe(400)
  expectLimited(await signIn({ ...user, password: wrong }))
  expectLimited(await signIn(user))
  expect(await statusOf(user, { Cookie: cookie })).toBe(200)
})

test('allows 60 attempts per network for all accounts together, and does not count successful ones', async () => {
  const user = await newUser()
  const headers = { 'X-Forwarded-For': newAddress() }
  for (const _ of times(perAccountAndNetwork + 3, () => 0))
    expect(await statusOf(user, headers)).toBe(200)
  const guess = () =>
    signIn({ email: `${randomUUID()}@example.com`, password: wrong }, headers)
  const before = await sql(
    'SELECT count(*)::int AS rows FROM password_attempts WHERE count > 0',
  )
  let verified = 0
  // Ten at a time, because more would fill the hashing queue.
  for (let attempts = 0; attempts < perNetwork + 20; attempts += 10)
    verified += (await Promise.all(times(10, guess))).filter(
      ({ status }) => status === 400,
    ).length
  expect(verified).toBe(perNetwork)
  const after = await sql(
    'SELECT count(*)::int AS rows FROM password_attempts WHERE count > 0',
  )
  expect(
    after[0]!.rows - before[0]!.rows,
    'rows of made-up accounts',
  ).toBeLessThanOrEqual(2 * perNetwork + 1)
  expectLimited(await signIn(user, headers))
  expect(await statusOf(user)).toBe(200)
})

test('allows a recognized browser 10 additional attempts, only for its own account', async () => {
  const [user, other] = [await newUser(), await newUser()]
  const cookie = await knownCookie(user)
  const address = newAddress()
  const from = (more = {}) => ({ 'X-Forwarded-For': address, ...more })
  const guess = (attempt: Attempt, headers: Record<string, string>) =>
    signIn({ ...attempt, password: wrong }, headers)
  await Promise.all(times(perKnownBrowser, () => guess(user, from({ Cookie: cookie }))))
  expectLimited(await signIn(user, from({ Cookie: cookie })))
  expect(
    await statusOf(user, from()),
    'without the cookie, the network has all its attempts',
  ).toBe(200)

  const again = await knownCookie(user) // another browser
  expect(await statusOf(user, from({ Cookie: again }))).toBe(200)
  const renewed = cookiesOf(await signIn(user, from({ Cookie: again }))).known!
  const idOf = (cookie: string) => Buffer.from(cookie, 'base64url').subarray(0, 16)
  expect(idOf(renewed)).toEqual(idOf(again.slice('known='.length)))

  const ofOther = await knownCookie(other)
  const network = newAddress()
  await Promise.all(
    times(perAccountAndNetwork, () => guess(user, { 'X-Forwarded-For': network })),
  )
  expectLimited(await signIn(user, { 'X-Forwarded-For': network, Cookie: ofOther }))
})

test('after a password change, does not recognize a browser until the user signs in with it', async () => {
  const user = await newUser()
  const cookie = await knownCookie(user)
  const headers = { 'X-Forwarded-For': newAddress() }
  const changed = (ago: string) =>
    sql('UPDATE users SET password_changed_at = now() - $2::interval WHERE email = $1', [
      user.email,
      ago,
    ])
  await Promise.all(
    times(perAccountAndNetwork, () => signIn({ ...user, password: wrong }, headers)),
  )
  expect(await statusOf(user, { ...headers, Cookie: cookie })).toBe(200)
  await changed('0 seconds')
  expectLimited(await signIn(user, { ...headers, Cookie: cookie }))
  await changed('2 seconds') // the time in the cookie is in whole seconds
  expect(await statusOf(user, { ...headers, Cookie: await knownCookie(user) })).toBe(200)
})

test('a counter expires 15 minutes after its first attempt, and its row is deleted', async () => {
  const user = await newUser()
  const headers = { 'X-Forwarded-For': newAddress() }
  await Promise.all(
    times(perAccountAndNetwork, () => signIn({ ...user, password: wrong }, headers)),
  )
  expectLimited(await signIn(user, headers))
  await sql(`UPDATE password_attempts SET expires_at = now() - interval '1 millisecond'`)
  expect(await statusOf({ ...user, password: wrong }, headers)).toBe(400)
  const live = await sql('SELECT count FROM password_attempts WHERE expires_at > now()')
  expect(live).toEqual(times(3, () => ({ count: 1 })))
  const expired = 'SELECT 1 FROM password_attempts WHERE expires_at < now()'
  const before = (await sql(expired)).length
  expect(before).toBeGreaterThan(25)
  const leftAfterSignIn = async () => {
    await signIn({ ...user, password: wrong }, headers)
    return (await sql(expired)).length
  }
  await expect.poll(leftAfterSignIn, { intervals: [50] }).toBeLessThanOrEqual(before - 20)
})

test('the counters contain no email address and no IP address', async () => {
  const [table] = await sql(
    `SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_name) AS columns
     FROM information_schema.columns WHERE table_name = 'password_attempts'`,
  )
  expect(table).toEqual({
    columns: 'count integer, expires_at timestamp with time zone, key_hash bytea',
  })
})
