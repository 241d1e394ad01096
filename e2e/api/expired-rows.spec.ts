import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { deleteExpiredRows } from '../../lib/database/clean-up'
import { documentedFetch } from '../support/documented'
import { expect, keepSecret, newAddress, newToken, test } from '../support/fixtures'
import { startServer } from '../support/server'

test.describe.configure({ mode: 'serial' }) // each test deletes rows that another may be counting

/**
 * Inserts `count` sign-ins of a user from `age` ago: a code and a session each. Every second code was
 * used.
 */
const fill = (count: number, age: string) => `
  WITH code AS (
    INSERT INTO exchange_codes (code_hash, user_id, expires_at, used_at, session_id)
    SELECT sha256(random()::text::bytea), $1, began + interval '1 minute',
      CASE number % 2 WHEN 0 THEN began END, CASE number % 2 WHEN 0 THEN gen_random_uuid() END
    FROM generate_series(1, ${count}) AS number, LATERAL (SELECT now() - interval '${age}') AS given (began)
  )
  INSERT INTO sessions (user_id, expires_at) SELECT $1, now() - interval '${age}' + interval '12 hours' FROM generate_series(1, ${count})`
const left = `SELECT (SELECT count(*)::int FROM exchange_codes WHERE user_id = $1) AS codes, (SELECT count(*)::int FROM reset_tokens WHERE user_id = $1) AS tokens,
  (SELECT count(*)::int FROM sessions WHERE user_id = $1) AS sessions`

test('rows that expired more than a week ago are deleted in batches, others are kept', async ({ user, sql }) => {
  await newToken(user)
  await sql(`UPDATE reset_tokens SET expires_at = now() - interval '8 days' WHERE user_id = $1`, [user.id])
  await sql(fill(2_345, '7 days 12 hours 1 minute'), [user.id])
  await sql(fill(10, '7 days 11 hours 59 minutes'), [user.id])
  await sql(fill(3, '7 days'), [user.id])
  const deleted = await deleteExpiredRows()
  expect(deleted.exchange_codes).toBeGreaterThanOrEqual(2_345)
  expect(await sql(left, [user.id])).toEqual([{ codes: 3, tokens: 0, sessions: 13 }])
  // A used code must be recognised for as long as its session can live.
  const used = 'SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NOT NULL'
  expect(await sql(used, [user.id])).toHaveLength(1)
})

test('a sign-in attempt is deleted an hour after it expired', async ({ sql }) => {
  const slug = `old-${randomUUID()}`
  const kept = ['59 minutes', '-1 minute']
  await sql(
    `WITH added AS (
       INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Old', 'oidc', '{}') RETURNING id
     )
     INSERT INTO sign_ins (state_hash, connection_id, browser_hash, kid, next, expires_at)
     SELECT sha256(random()::text::bytea), id, sha256(''), 'x', age, now() - age::interval
     FROM added, unnest($2::text[]) AS age`,
    [slug, ['61 minutes', ...kept]],
  )
  expect((await deleteExpiredRows()).sign_ins).toBeGreaterThanOrEqual(1)
  const rows = await sql(
    'SELECT next FROM sign_ins WHERE connection_id = (SELECT id FROM connections WHERE slug = $1) ORDER BY expires_at',
    [slug],
  )
  expect(rows.map(({ next }) => next)).toEqual(kept)
  await sql('DELETE FROM connections WHERE slug = $1', [slug])
})

test('a run stops at its time limit, and the next run continues', async ({ user, sql }) => {
  await sql(fill(2_500, '8 days'), [user.id])
  expect(await deleteExpiredRows(0)).toEqual({
    exchange_codes: 0,
    reset_tokens: 0,
    sessions: 0,
    sign_ins: 0,
    mails: 0,
    password_attempts: 0,
  })
  await deleteExpiredRows()
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test('mails are deleted a week after they were requested, sent or not', async ({ user, sql }) => {
  await sql(
    `INSERT INTO mails (kind, user_id, language, requested_at, due_at, sent_at, gave_up_at)
     SELECT 'reset', $1, 'en', now() - age, CASE state WHEN 1 THEN now() END, CASE state WHEN 2 THEN now() END, CASE state WHEN 3 THEN now() END
     FROM unnest(ARRAY[interval '6 days 23 hours', interval '7 days 1 minute']) age, generate_series(1, 3) state`,
    [user.id],
  )
  expect((await deleteExpiredRows()).mails).toBeGreaterThanOrEqual(3)
  const kept = `SELECT count(*)::int AS kept, min(requested_at) > now() - interval '7 days' AS recent FROM mails WHERE user_id = $1`
  expect(await sql(kept, [user.id])).toEqual([{ kept: 3, recent: true }])
})

test('a counter of passwords is deleted as its window ends', async ({ sql }) => {
  const keys = ['1 millisecond', '-1 minute', '-14 minutes']
  await sql(
    `INSERT INTO password_attempts (key_hash, count, expires_at)
     SELECT sha256((age || $2)::bytea), 1, now() - age::interval FROM unnest($1::text[]) AS age`,
    [keys, 'deleted as its window ends'],
  )
  expect((await deleteExpiredRows()).password_attempts).toBeGreaterThanOrEqual(1)
  const rows = await sql(
    `SELECT age FROM unnest($1::text[]) AS age
     WHERE EXISTS (SELECT FROM password_attempts WHERE key_hash = sha256((age || $2)::bytea))`,
    [keys, 'deleted as its window ends'],
  )
  expect(rows.map(({ age }) => age)).toEqual(keys.slice(1))
})

test('a mail is in one state, and holds no text of a client', async ({ user, sql }) => {
  const insert = (columns: string, values: string) =>
    sql(`INSERT INTO mails (user_id, kind, language, ${columns}) VALUES ($1, ${values})`, [user.id])
  await insert('device', `'reset', 'en', 'Firefox on Windows'`)
  await expect(insert('device', `'reset', 'en', 'Mozilla/5.0 (X11; Linux)'`)).rejects.toThrow('mails_device_is_short')
  await expect(insert('device', `'reset', 'en', repeat('x', 41)`)).rejects.toThrow('mails_device_is_short')
  await expect(insert('device', `'other', 'en', NULL`)).rejects.toThrow('mails_kind_is_known')
  await expect(insert('device', `'reset', 'en;q=1', NULL`)).rejects.toThrow('mails_language_is_a_tag')
  await expect(insert('due_at', `'reset', 'en', NULL`)).rejects.toThrow('mails_due_until_the_end')
  await expect(insert('sent_at', `'reset', 'en', now()`)).rejects.toThrow('mails_due_until_the_end')
})

test('a locked row is skipped without waiting, and deleted by the next run', async ({ user, sql }) => {
  await sql(fill(5, '30 days'), [user.id])
  const holder = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM exchange_codes WHERE user_id = $1 LIMIT 1 FOR UPDATE', [user.id])
  await deleteExpiredRows()
  expect(await sql(left, [user.id])).toEqual([{ codes: 1, tokens: 0, sessions: 0 }])
  await holder.query('ROLLBACK')
  await holder.end()
  await deleteExpiredRows()
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test('deleting a user deletes all of their rows', async ({ user, sql }) => {
  await newToken(user)
  await sql(fill(2, '1 day'), [user.id])
  await sql('DELETE FROM users WHERE id = $1', [user.id])
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test('e-mail addresses are unique regardless of case', async ({ user, sql }) => {
  const insert = (email: string) => sql('INSERT INTO users (email) VALUES ($1)', [email])
  await expect(insert(user.email)).rejects.toThrow('users_email_key')
  await expect(insert(user.email.toUpperCase())).rejects.toThrow('users_email_is_lower_case')
})

const cron = '/api/cron/clean-up'
const secret = keepSecret(`cron-${randomUUID()}`)

test('the cron job deletes expired rows; repeated and concurrent runs are harmless', async ({ user, sql }) => {
  await sql(fill(1_500, '8 days'), [user.id])
  const server = await startServer({ CRON_SECRET: secret })
  const call = () =>
    fetch(server.url + cron, { headers: { Authorization: `Bearer ${secret}`, 'X-Forwarded-For': newAddress() } })
  const responses = [...(await Promise.all([call(), call(), call()])), await call()]
  await server.stop()
  for (const response of responses) {
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        ok: true,
        deleted: {
          exchange_codes: expect.any(Number),
          reset_tokens: expect.any(Number),
          sessions: expect.any(Number),
          sign_ins: expect.any(Number),
          mails: expect.any(Number),
          password_attempts: expect.any(Number),
        },
      },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('ratelimit')).toMatch(/^"platform";r=\d+;t=\d+$/)
  }
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test('the cron jobs respond with 404 without the right secret, or if no secret is set', async ({ url }) => {
  const server = await startServer({ CRON_SECRET: secret })
  const wrong = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${secret}x`,
    `Bearer ${secret.slice(1)}`,
    secret,
    `Basic ${secret}`,
    'Bearer undefined',
  ]
  const calls = [
    ...wrong.map((Authorization) => [server.url, 'GET', { Authorization }] as const),
    [server.url, 'GET', {}] as const,
    ...['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'].map(
      (method) => [server.url, method, { Authorization: `Bearer ${secret}` }] as const,
    ),
    ...wrong.map((Authorization) => [url, 'GET', { Authorization }] as const),
    [url, 'GET', { Authorization: `Bearer ${secret}` }] as const,
  ]
  for (const path of [cron, '/api/cron/mail']) {
    for (const [base, method, headers] of calls) {
      const response = await documentedFetch(base + path, {
        method,
        headers: { 'X-Forwarded-For': newAddress(), ...headers },
      })
      expect(response.status, `${path} ${method} ${JSON.stringify(headers)}`).toBe(404)
    }
  }
  await server.stop()
})
