import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { openDatabase } from '../../bench/database'
import { project } from '../../bin/local'
import * as paths from '../../lib/contract/paths'
import { exchangePath, expect, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { startServer } from '../support/server'
import { startSmtp } from '../support/smtp'

const rows = 200_000
const tables = ['exchange_codes', 'mails', 'password_attempts', 'reset_tokens', 'sessions', 'users']

test('no operation of the service scans a table, with 200,000 rows in each', async () => {
  test.setTimeout(180_000)
  const database = await openDatabase(
    process.env.DATABASE_URL!,
    `growth_${randomBytes(6).toString('hex')}`,
    rows,
    () => {},
  )
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const old = (table: string) =>
    `UPDATE ${table} SET expires_at = now() - interval '8 days' WHERE created_at < now() - interval '6 days 20 hours'`
  for (const table of ['exchange_codes', 'reset_tokens', 'sessions']) await client.query(old(table))
  await client.query(
    `INSERT INTO mails (kind, user_id, language, due_at, sent_at, requested_at)
     SELECT 'reset', (SELECT id FROM users WHERE email = 'user-' || number % 1000 || '@example.com'), 'en', NULL, now(), now() - number * interval '10 seconds'
     FROM generate_series(1, $1::int) number`,
    [rows],
  )
  await client.query(
    `INSERT INTO password_attempts (key_hash, count, expires_at)
     SELECT sha256(number::text::bytea), 1, now() + (number % 2000 - 100) * interval '1 second'
     FROM generate_series(1, $1::int) number`,
    [rows],
  )
  const [code, token] = [await database.newCodes(3), await database.newTokens(2)]
  await client.query('VACUUM ANALYZE')
  const before = await readsOf(client)

  const smtp = await startSmtp()
  const settings = { DATABASE_URL: database.url, PASSWORD_SIGN_IN: 'true', ...smtp.settings }
  const server = await startServer(settings)
  const send = (path: string, body: object) => postTo(server.url + path, body)
  const used = code()
  const { status, body } = await send(exchangePath, { code: used })
  expect(status).toBe(200)
  const cookie = { Cookie: `session=${body.token}` }
  expect(await (await fetch(`${server.url}/`, { headers: cookie })).text()).toContain('@example.com')
  const refresh = { Cookie: `refresh=${body.refreshToken}` }
  expect(await (await fetch(`${server.url}/`, { headers: refresh })).text()).toContain('@example.com')
  expect((await postTo(server.url + paths.refreshSession, {}, refresh)).status).toBe(200)
  expect((await send(exchangePath, { code: used })).status).toBe(400) // revokes the session
  const again = await send(exchangePath, { code: code() })
  await fetch(`${server.url}/sign-out`, {
    method: 'POST',
    headers: { Cookie: `session=${again.body.token}` },
    redirect: 'manual',
  })
  expect((await send(exchangePath, { code: 'unknown' })).status).toBe(400)
  expect((await send(resetPath, { token: 'unknown', password: newPassword() })).status).toBe(400)
  expect((await send(resetPath, { token: token(), password: newPassword() })).status).toBe(200)
  const password = newPassword()
  await client.query(`UPDATE users SET password_hash = $1 WHERE email = 'user-8@example.com'`, [
    await bcrypt.hash(password, 4),
  ])
  for (const [secret, expected] of [
    [password, 200],
    [newPassword(), 400],
  ] as const)
    expect((await send(paths.signIn, { email: 'user-8@example.com', password: secret })).status).toBe(expected)
  expect((await send(paths.forgotPassword, { email: 'user-9@example.com' })).status).toBe(200)
  expect((await send(paths.forgotPassword, { email: 'nobody@example.com' })).status).toBe(200)
  await expect.poll(() => smtp.mails.length).toBeGreaterThan(0)
  await server.stop() // a connection reports its statistics when it closes
  await command('issue.ts', 'sso-code', 'user-7@example.com')
  await command('issue.ts', 'reset-token', 'User-7@example.com')
  expect(await command('clean-up.ts')).toMatch(/sessions: [1-9]\d{3}/)

  await expect.poll(async () => (await readsOf(client)).idx_scan > before.idx_scan).toBe(true)
  expect((await readsOf(client)).seq_scan - before.seq_scan).toEqual(0)
  await client.end()
  await smtp.stop()
  await database.drop()

  async function command(...[program, ...parameters]: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', `${project}bin/${program}`, ...parameters],
      {
        cwd: project,
        env: { ...process.env, ...settings },
      },
    )
    return stdout
  }
})

/** The number of sequential scans and index scans of our tables. */
async function readsOf(client: pg.Client): Promise<{ seq_scan: number; idx_scan: number }> {
  await client.query('SELECT pg_stat_force_next_flush()') // otherwise, scans of this connection would be counted later
  const { rows } = await client.query(
    'SELECT sum(seq_scan)::int AS seq_scan, sum(idx_scan)::int AS idx_scan FROM pg_stat_user_tables WHERE relname = ANY ($1)',
    [tables],
  )
  return rows[0]
}
