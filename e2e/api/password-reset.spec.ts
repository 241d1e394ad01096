import { createHash } from 'node:crypto'
import bcrypt from 'bcryptjs'
import pg from 'pg'
import { exchange, expect, newCode, newPassword, newToken, type Person, reset, test } from '../support/fixtures'
import { startServer } from '../support/server'

const deadLink = {
  ok: false,
  code: 'VALIDATION_ERROR',
  message: expect.any(String),
  requestId: expect.any(String),
  issues: [{ path: ['token'], code: 'invalid_or_expired', message: expect.any(String) }],
}
const passwordIssue = (code: string) => ({
  ...deadLink,
  issues: [{ path: ['password'], code, message: expect.any(String) }],
})
type Sql = (text: string, values?: unknown[]) => Promise<Record<string, any>[]>
const storedHash = async (sql: Sql, person: Person) =>
  (await sql('SELECT password_hash FROM users WHERE id = $1', [person.id]))[0]!.password_hash as string | null

test('a good token sets the password, as a hash that another bcrypt verifies, and signs nobody in', async ({
  person,
  post,
  sql,
}) => {
  const password = newPassword()
  const answer = await post(reset, { token: await newToken(person), password })
  expect([answer.status, answer.body]).toEqual([200, { ok: true }])
  expect(answer.headers.getSetCookie()).toEqual([])
  const hash = await storedHash(sql, person)
  expect(hash).toMatch(/^\$2b\$12\$/)
  expect(await bcrypt.compare(password, hash!)).toBe(true)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [person.id])).toHaveLength(0)
})

test('only the hash of a token is stored, and it lives for an hour', async ({ person, sql }) => {
  const token = await newToken(person)
  expect(token).toMatch(/^[\w-]{43}$/)
  const [stored] = await sql(
    `SELECT token_hash, expires_at - created_at = interval '1 hour' AS hour FROM reset_tokens WHERE user_id = $1`,
    [person.id],
  )
  expect(stored).toEqual({ token_hash: createHash('sha256').update(token).digest(), hour: true })
})

test('an unknown, a spent, an expired and an overtaken token get one and the same answer', async ({
  person,
  post,
  sql,
}) => {
  const overtaken = await newToken(person)
  const spent = await newToken(person)
  const attempt = (token: string) =>
    post(reset, { token, password: newPassword() }, { 'X-Request-Id': 'the-same-for-all' })
  const answers = [await attempt('fabricated'), await attempt(''), await attempt(overtaken)]
  expect((await attempt(spent)).status).toBe(200)
  const hash = await storedHash(sql, person)
  answers.push(await attempt(spent))
  const expired = await newToken(person)
  await sql('UPDATE reset_tokens SET expires_at = now() WHERE user_id = $1', [person.id])
  answers.push(await attempt(expired))
  for (const { status, body } of answers)
    expect([status, body]).toEqual([400, { ...deadLink, message: answers[0]!.body.message }])
  expect(await storedHash(sql, person)).toBe(hash)
})

test('a weak password leaves the link alive for a strong one', async ({ person, post, sql }) => {
  const token = await newToken(person)
  for (const weak of ['short', 'password1', person.email])
    expect((await post(reset, { token, password: weak })).status).toBe(400)
  expect(await storedHash(sql, person)).toBeNull()
  expect((await post(reset, { token, password: newPassword() })).status).toBe(200)
})

test('every session and refresh token of the person ends, and nobody else’s', async ({ person, post, sql }) => {
  const [other] = (await sql(
    `INSERT INTO users (email) VALUES (gen_random_uuid() || '@example.com') RETURNING id, email`,
  )) as [Person]
  for (const somebody of [person, person, other])
    expect((await post(exchange, { code: await newCode(somebody) })).status).toBe(200)
  expect((await post(reset, { token: await newToken(person), password: newPassword() })).status).toBe(200)
  const alive = `SELECT count(*)::int AS count FROM sessions LEFT JOIN refresh_tokens r ON session_id = id WHERE user_id = $1 AND (sessions.revoked_at IS NULL OR r.revoked_at IS NULL)`
  expect(await sql(alive, [person.id])).toEqual([{ count: 0 }])
  expect(await sql(alive, [other.id])).toEqual([{ count: 1 }])
})

test('of 20 simultaneous resets with one token, one succeeds, and the password is that one’s', async ({
  person,
  post,
  sql,
}) => {
  const token = await newToken(person)
  const attempts = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const password = newPassword()
      return { password, answer: await post(reset, { token, password }) }
    }),
  )
  const [winner, ...more] = attempts.filter(({ answer }) => answer.status === 200)
  expect(more).toHaveLength(0)
  for (const { answer } of attempts)
    if (answer !== winner!.answer) expect([answer.status, answer.body]).toEqual([400, deadLink])
  expect(await bcrypt.compare(winner!.password, (await storedHash(sql, person))!)).toBe(true)
})

test('a session whose start is not committed yet when the reset arrives is ended too', async ({
  person,
  post,
  sql,
}) => {
  const starting = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await starting.connect()
  await starting.query('BEGIN')
  await starting.query(`INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '12 hours')`, [
    person.id,
  ])
  const resetting = post(reset, { token: await newToken(person), password: newPassword() })
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'`
  await expect.poll(async () => (await sql(waiting)).length).toBe(1)
  await starting.query('COMMIT')
  await starting.end()
  expect((await resetting).status).toBe(200)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [person.id])).toHaveLength(0)
})

for (const [who, change] of [
  ['disabled', 'disabled_at = now()'],
  ['barred from passwords because SSO manages them', 'sso_only = true'],
] as const) {
  test(`a person who is ${who} gets the answer of a dead link`, async ({ person, post, sql }) => {
    const token = await newToken(person)
    await sql(`UPDATE users SET ${change} WHERE id = $1`, [person.id])
    const { status, body } = await post(reset, { token, password: newPassword() })
    expect([status, body]).toEqual([400, deadLink])
    expect(await storedHash(sql, person)).toBeNull()
  })
}

test.describe('the rules for a password', () => {
  const refusedAs = {
    too_short: ['', 'x8#Kq2!', '🦉🦊🐢🦔🐝🦋🐌', 'é8#Kq2!'],
    too_long: [`${'lantern meadow '.repeat(5)}`.slice(0, 73), '🦉🦊🐢🦔🐝🦋🐌🐞🦂🐙🦑🦐🦞🦀🐡🐠🐟🐬🐳'],
    invalid_characters: ['lantern\u0000 river meadow', 'lantern \ud83d river meadow', '\udc00lantern river meadow'],
    too_guessable: [
      'password',
      'Password123!',
      'qwertyuiop',
      '12345678',
      'aaaaaaaaaaaaaaaa',
      'letmein123',
      'dashboard2026',
    ],
  }
  for (const [code, passwords] of Object.entries(refusedAs)) {
    test(`${code}`, async ({ person, post }) => {
      const token = await newToken(person)
      for (const password of passwords) {
        const { status, body } = await post(reset, { token, password: password })
        expect([status, body], JSON.stringify(password)).toEqual([400, passwordIssue(code)])
      }
    })
  }

  test('the person’s own e-mail makes a password guessable', async ({ person, post, sql }) => {
    const email = `grace.${person.id.slice(0, 4)}.murray@example.com`
    await sql('UPDATE users SET email = $1 WHERE id = $2', [email, person.id])
    const token = await newToken(person)
    for (const password of [email, email.split('@')[0], 'gracemurray', 'Murray2026!', 'example.com'])
      expect((await post(reset, { token, password })).body).toEqual(passwordIssue('too_guessable'))
  })

  test('8 code points, 72 bytes, spaces, any script and no composition rule; taken exactly as received', async ({
    person,
    post,
    sql,
  }) => {
    const accepted = [
      'x8#Kq2!m',
      '🦉🐢lmQ8🦔🐝',
      ' lantern river meadow ',
      'fjord lantern brisk meadow copper violin harbour thistle quartz ember oak'.slice(0, 72),
      'cafe\u0301 lanterna verde',
      'correct horse battery staple',
      'lanternrivermeadow',
      'Фонарь река луг',
    ]
    for (const password of accepted) {
      const { status, body } = await post(reset, { token: await newToken(person), password })
      expect([status, body], password).toEqual([200, { ok: true }])
      const hash = (await storedHash(sql, person))!
      expect(await bcrypt.compare(password, hash)).toBe(true)
      expect(await bcrypt.compare(password.trim().normalize('NFC'), hash)).toBe(
        password === password.trim().normalize('NFC'),
      )
    }
  })

  test('PASSWORD_MIN_LENGTH raises the least length', async ({ person, post }) => {
    const server = await startServer({ PASSWORD_MIN_LENGTH: '15' })
    const token = await newToken(person)
    expect((await post(`${server.url}${reset}`, { token, password: 'x8#Kq2!mZw4%Rt' })).body).toEqual(
      passwordIssue('too_short'),
    )
    expect((await post(`${server.url}${reset}`, { token, password: newPassword() })).status).toBe(200)
    await server.stop()
  })
})
