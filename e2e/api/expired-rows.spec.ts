import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { deleteExpiredRows } from '../../lib/database/clean-up'
import { env } from '../../lib/settings/env'
import { disableConnection, listConnections } from '../../lib/sso/manage/connections'
import { newKeyPair } from '../../lib/sso/saml/key-pair'
import { connectSaml } from '../support/browsers/saml-visitor'
import { documentedFetch } from '../support/documents/documented'
import { expect, newToken, type TestServer, test } from '../support/fixtures'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

test.describe.configure({ mode: 'serial' }) // a test deletes rows that a concurrent test could be counting

/**
 * Inserts the codes and sessions of `count` sign-ins that took place `age` ago. Every
 * second code is used.
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

test('deletes rows that expired more than a week ago, in batches', async ({
  user,
  sql,
}) => {
  await newToken(user)
  await sql(
    `UPDATE reset_tokens SET expires_at = now() - interval '8 days' WHERE user_id = $1`,
    [user.id],
  )
  await sql(fill(2_345, '7 days 12 hours 1 minute'), [user.id])
  await sql(fill(10, '7 days 11 hours 59 minutes'), [user.id])
  await sql(fill(3, '7 days'), [user.id])
  const deleted = await deleteExpiredRows()
  expect(deleted.exchange_codes).toBeGreaterThanOrEqual(2_345)
  expect(await sql(left, [user.id])).toEqual([{ codes: 3, tokens: 0, sessions: 13 }])
  // A used code must be recognized for as long as its session can live.
  const used = 'SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NOT NULL'
  expect(await sql(used, [user.id])).toHaveLength(1)
})

test('deletes the code of a client a week after it expired', async ({ sql }) => {
  const added = await sql(
    `INSERT INTO authorization_codes (code_hash, client_id, parent_id, redirect_uri, used_at, expires_at)
     SELECT sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), gen_random_uuid(), 'https://app.example.com/',
       now() - age, now() - age
     FROM unnest(ARRAY[interval '1 minute', interval '6 days 23 hours 59 minutes', interval '7 days 1 minute']) AS age
     RETURNING code_hash`,
  )
  expect((await deleteExpiredRows()).authorization_codes).toBeGreaterThanOrEqual(1)
  const left = 'SELECT code_hash FROM authorization_codes WHERE code_hash = ANY ($1)'
  const kept = await sql(left, [added.map(({ code_hash }) => code_hash)])
  expect(kept).toEqual(added.slice(0, 2))
})

test('deletes an SSO attempt an hour after it expired', async ({ sql }) => {
  const slug = `old-${randomUUID()}`
  const kept = ['59 minutes', '-1 minute']
  await sql(
    `WITH added AS (
       INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Old', 'oidc', '{}') RETURNING id
     )
     INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, kid, next, expires_at)
     SELECT sha256(random()::text::bytea), id, sha256(''), 'x', age, now() - age::interval
     FROM added, unnest($2::text[]) AS age`,
    [slug, ['61 minutes', ...kept]],
  )
  expect((await deleteExpiredRows()).sso_attempts).toBeGreaterThanOrEqual(1)
  const rows = await sql(
    'SELECT next FROM sso_attempts WHERE connection_id = (SELECT id FROM connections WHERE slug = $1) ORDER BY expires_at',
    [slug],
  )
  expect(rows.map(({ next }) => next)).toEqual(kept)
  await sql('DELETE FROM connections WHERE slug = $1', [slug])
})

test('deletes a rejected sign-in a week after the last one of its account', async ({
  sql,
}) => {
  const [connection] = await sql(
    `INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Old', 'oidc', '{}') RETURNING id`,
    [`old-${randomUUID()}`],
  )
  await sql(
    `INSERT INTO rejected_sign_ins (connection_id, issuer, subject, reason, last_at)
     SELECT $1, 'https://idp.example.com', age, 'email_domain', now() - age::interval
     FROM unnest(ARRAY['6 days 23 hours', '7 days 1 minute']) AS age`,
    [connection!.id],
  )
  await deleteExpiredRows()
  const left = 'SELECT subject FROM rejected_sign_ins WHERE connection_id = $1'
  expect(await sql(left, [connection!.id])).toEqual([{ subject: '6 days 23 hours' }])
  await sql('DELETE FROM connections WHERE id = $1', [connection!.id])
})

test('deletes a setup link 30 days after it expired, with the setting', async ({
  sql,
}) => {
  const [connection] = await sql(
    `INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Old', 'oidc', '{}') RETURNING id`,
    [`old-${randomUUID()}`],
  )
  await sql(
    `INSERT INTO setup_links (connection_id, secret_hash, may_activate, tried_as, expires_at, ended_at)
     SELECT $1, sha256(age::bytea), false, age, now() - age::interval, now()
     FROM unnest(ARRAY['29 days 23 hours', '30 days 1 minute']) AS age`,
    [connection!.id],
  )
  const left = 'SELECT tried_as FROM setup_links WHERE connection_id = $1'
  await deleteExpiredRows()
  expect(await sql(left, [connection!.id])).toHaveLength(2)

  const settings = env()
  settings.SETUP_LINKS = true
  await deleteExpiredRows().finally(() => (settings.SETUP_LINKS = false))
  expect(await sql(left, [connection!.id])).toEqual([{ tried_as: '29 days 23 hours' }])
  await sql('DELETE FROM connections WHERE id = $1', [connection!.id])
})

test('deletes sent and unsent emails a week after they were requested', async ({
  user,
  sql,
}) => {
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

test('deletes a counter of password attempts when its window ends', async ({ sql }) => {
  const added = await sql(
    `INSERT INTO password_attempts (key_hash, count, expires_at)
     SELECT sha256(gen_random_uuid()::text::bytea), 1, now() - age
     FROM unnest(ARRAY[interval '1 millisecond', interval '-1 minute']) AS age RETURNING key_hash`,
  )
  await deleteExpiredRows()
  const left = 'SELECT key_hash FROM password_attempts WHERE key_hash = ANY ($1)'
  expect(await sql(left, [added.map(({ key_hash }) => key_hash)])).toEqual(added.slice(1))
})

test('deletes a notice for a client after a day', async ({ sql }) => {
  const added = await sql(
    `INSERT INTO logout_notices (client_id, session_id, requested_at, due_at)
     SELECT gen_random_uuid(), gen_random_uuid(), now() - age, now() + interval '1 hour'
     FROM unnest(ARRAY[interval '25 hours', interval '23 hours']) AS age RETURNING id`,
  )
  await deleteExpiredRows()
  const left = 'SELECT id FROM logout_notices WHERE id = ANY ($1)'
  expect(await sql(left, [added.map(({ id }) => id)])).toEqual(added.slice(1))
})

test('deletes events after EVENTS_DAYS, says so, and keeps all of the past 30 days', async ({
  sql,
}) => {
  const requestId = randomUUID()
  await sql(
    `INSERT INTO events (kind, actor, request_id, "at")
     SELECT 'signed_in', 'user', $1, now() - make_interval(days => age) FROM unnest(ARRAY[181, 179, 31, 29]) AS age`,
    [requestId],
  )
  const ages = async () => {
    const left = `SELECT (now()::date - "at"::date) AS age FROM events WHERE request_id = $1 ORDER BY age`
    return (await sql(left, [requestId])).map(({ age }) => age)
  }
  const { events } = await deleteExpiredRows()
  expect(events).toBeGreaterThan(0)
  expect(await ages()).toEqual([29, 31, 179])
  const told = `SELECT count FROM events WHERE kind = 'events_deleted' AND actor = 'clean-up' ORDER BY id DESC LIMIT 1`
  expect(await sql(told)).toEqual([{ count: events }])

  for (const days of [30, 0, -1_000]) await sql('SELECT delete_events($1, 1000)', [days])
  await sql('SELECT delete_events(NULL, 1000)')
  expect(await ages()).toEqual([29])
})

test('does not wait for a locked row, and stops at its time limit', async ({
  user,
  sql,
}) => {
  await sql(fill(5, '30 days'), [user.id])
  const holder = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query(
    'SELECT 1 FROM exchange_codes WHERE user_id = $1 LIMIT 1 FOR UPDATE',
    [user.id],
  )
  // the time limit is zero
  expect(Object.values(await deleteExpiredRows(0))).toEqual(Array(10).fill(0))
  await deleteExpiredRows()
  expect(await sql(left, [user.id])).toEqual([{ codes: 1, tokens: 0, sessions: 0 }])
  await holder.query('ROLLBACK')
  await holder.end()
  await deleteExpiredRows()
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test('deletes all rows of a deleted user', async ({ user, sql }) => {
  await newToken(user)
  await sql(fill(2, '1 day'), [user.id])
  await sql('DELETE FROM users WHERE id = $1', [user.id])
  expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
})

test.describe('the cron jobs', () => {
  const secret = keepSecret(allFeatures.CRON_SECRET)
  let server: TestServer
  test.beforeAll(async ({ serverWith }) => {
    server = await serverWith(allFeatures)
  })

  test('delete expired rows, even if the jobs run concurrently or repeatedly', async ({
    user,
    sql,
  }) => {
    await sql(fill(1_500, '8 days'), [user.id])
    const headers = { Authorization: `Bearer ${secret}`, 'X-Forwarded-For': newAddress() }
    const call = () => fetch(`${server.url}/api/cron/clean-up`, { headers })
    for (const response of [
      ...(await Promise.all([call(), call(), call()])),
      await call(),
    ]) {
      const tables = [
        'exchange_codes',
        'authorization_codes',
        'reset_tokens',
        'sessions',
        'sso_attempts',
        'rejected_sign_ins',
        'mails',
        'password_attempts',
        'logout_notices',
        'events',
      ]
      const deleted = Object.fromEntries(
        tables.map((table) => [table, expect.any(Number)]),
      )
      expect([response.status, await response.json()]).toEqual([
        200,
        { ok: true, deleted },
      ])
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('ratelimit')).toMatch(/^"platform";r=\d+;t=\d+$/)
    }
    expect(await sql(left, [user.id])).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
  })

  test('log expiring certificates of enabled connections', async () => {
    const start = new Date()
    start.setUTCFullYear(start.getUTCFullYear() - 10)
    start.setUTCDate(start.getUTCDate() + 20)
    const { certificate } = await newKeyPair('idp', start)
    const add = async () =>
      connectSaml(await newSamlProvider(), server.url, {
        settings: { certificates: [certificate] },
      })
    const [slug, disabled] = [await add(), await add()]
    await disableConnection((await listConnections(disabled))[0]!)
    await fetch(`${server.url}/api/cron/clean-up`, {
      headers: { Authorization: `Bearer ${secret}` },
    })
    expect([
      ...(await server.logged(slug)),
      ...(await server.logged(disabled)),
    ]).toMatchObject([
      {
        level: 'warn',
        connection: slug,
        check: 'certificate_expires',
        whose: 'provider',
        endsAt: expect.any(String),
      },
    ])
  })

  test('respond with 404 if the secret is wrong, missing, or not configured', async ({
    url,
  }) => {
    const wrong = [
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${secret}x`,
      `Bearer ${secret.slice(1)}`,
      secret,
      `Basic ${secret}`,
    ]
    const right = `Bearer ${secret}`
    const calls: [base: string, method: string, authorization: string][] = [
      ...wrong.map((each): [string, string, string] => [server.url, 'GET', each]),
      ...['', 'Bearer', 'Bearer undefined', right].map(
        (each): [string, string, string] => [url, 'GET', each],
      ),
      ...['HEAD', 'POST', 'OPTIONS'].map((method): [string, string, string] => [
        server.url,
        method,
        right,
      ]),
    ]
    for (const path of ['/api/cron/clean-up', '/api/cron/mail'])
      for (const [base, method, authorization] of calls) {
        const headers = {
          'X-Forwarded-For': newAddress(),
          ...(authorization && { Authorization: authorization }),
        }
        const { status } = await documentedFetch(base + path, { method, headers })
        expect(status, `${path} ${method} ${authorization}`).toBe(404)
      }
  })
})
