// `npm run bench -- --peers`: another implementation of the same operations, beside ours.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { maintain } from './database'
import { type Load, measure } from './load'
import { benchUrl, type Server } from './servers'
import type { Variant } from './variants'

const userCount = 1_000
const oldPassword = 'meadow lantern river'
const verifyPath = '/api/auth/one-time-token/verify'
const resetPath = '/api/auth/reset-password'

// What is true of the version in bench/peers/better-auth/package.json, with the options in auth.ts
// there. The statements were counted in PostgreSQL's log.
const oneTimeTokenNote =
  'Executes 7 statements; the exchange executes 1. Both consume the token atomically. It returns an existing session ' +
  'and its user; the exchange starts a session and signs a JWT and a refresh token. By default, it stores the token ' +
  'as plain text; the exchange stores a hash. A reused token revokes no session; a code that another browser reuses ' +
  'revokes the session that it started.'
const resetNote =
  'Executes 9 statements, and 2 more once a minute to delete expired tokens; the reset executes 5. Both set the ' +
  'password in the transaction that consumes the token. It checks the length of the password but not its strength, ' +
  'and limits neither attempts per token nor concurrent hashes; the reset does. By default, it revokes no ' +
  'sessions and stores the token as plain text; the reset locks the user, revokes all sessions and stores a hash.'

export type BetterAuth = {
  /** The settings of its server. */
  settings: Record<string, string>
  /** Stores one-time tokens, each for a session of its own, as `/one-time-token/generate` does. */
  newOneTimeTokens: (count: number) => Promise<() => string>
  /** Stores reset tokens as `/request-password-reset` does, each for a different user with a password. */
  newResetTokens: (count: number) => Promise<() => string>
  /** Throws unless both operations do on this server what their names say. */
  check: (server: Server) => Promise<void>
  /** Disconnects and drops the database. */
  drop: () => Promise<void>
}

/** Creates a database with the tables of better-auth, which is built in `folder`. */
export async function openBetterAuth(maintenanceUrl: string, name: string, folder: string): Promise<BetterAuth> {
  const url = new URL(maintenanceUrl)
  url.pathname = `/${name}`
  const settings = { DATABASE_URL: url.href, BETTER_AUTH_SECRET: randomBytes(32).toString('base64url') }
  await maintain(maintenanceUrl, `CREATE DATABASE ${name}`)
  execFileSync(process.execPath, ['--import', 'tsx', 'migrate.ts'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PUBLIC_URL: benchUrl, ...settings },
  })
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const oldHash = await bcrypt.hash(oldPassword, 12)
  await client.query(
    `INSERT INTO "user" (id, name, email, "emailVerified")
     SELECT md5('user' || number), 'User', 'user-' || number || '@example.com', true
     FROM generate_series(0, ${userCount - 1}) number`,
  )

  const run = randomBytes(6).toString('hex')
  const token = (number: number) => `${run}${String(number).padStart(20, '0')}`
  const tokenSql = `('${run}' || lpad(number::text, 20, '0'))`
  let stored = 0
  const tokensFrom = async (count: number, insert: string) => {
    const first = stored
    stored += count
    await client.query(insert, [first + 1, stored])
    await client.query('ANALYZE') // or the planner might scan tables that it takes for empty
    let next = first
    return () => {
      if (next === first + count) throw new Error('not enough tokens were stored')
      return token(++next)
    }
  }

  const newOneTimeTokens = (count: number) =>
    tokensFrom(
      count,
      `WITH started AS (
         INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt", "ipAddress", "userAgent")
         SELECT md5('session' || number), md5(${tokenSql}), md5('user' || number % ${userCount}),
           now() + interval '7 days', now(), now(), '', ''
         FROM generate_series($1::int, $2::int) number
       )
       INSERT INTO verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")
       SELECT md5('verification' || number), 'one-time-token:' || ${tokenSql}, md5(${tokenSql}),
         now() + interval '1 day', now(), now()
       FROM generate_series($1::int, $2::int) number`,
    )
  const newResetTokens = (count: number) =>
    tokensFrom(
      count,
      `WITH owners AS (
         INSERT INTO "user" (id, name, email, "emailVerified")
         SELECT ${tokenSql}, 'User', 'reset-' || number || '@example.com', true
         FROM generate_series($1::int, $2::int) number
         RETURNING id
       ), accounts AS (
         INSERT INTO account (id, "accountId", "providerId", "userId", password, "createdAt", "updatedAt")
         SELECT md5('account' || id), id, 'credential', id, '${oldHash}', now(), now() FROM owners
       )
       INSERT INTO verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")
       SELECT md5('verification' || id), 'reset-password:' || id, id, now() + interval '1 day', now(), now()
       FROM owners`,
    )

  return {
    settings,
    newOneTimeTokens,
    newResetTokens,
    check: async (server) => {
      const post = (path: string, body: object) =>
        fetch(server.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      const oneTimeToken = (await newOneTimeTokens(1))()
      const verified = await post(verifyPath, { token: oneTimeToken })
      const cookie = verified.headers.getSetCookie()[0]!.split(';')[0]!
      const response = await fetch(`${server.url}/api/auth/get-session`, { headers: { cookie } })
      const { session } = (await response.json()) as { session: { id: string } }
      assert.equal(session.id, ((await verified.json()) as { session: { id: string } }).session.id)
      assert.equal((await post(verifyPath, { token: oneTimeToken })).status, 400)

      const resetToken = (await newResetTokens(1))()
      const newPassword = 'lantern meadow river'
      assert.equal((await post(resetPath, { token: resetToken, newPassword })).status, 200)
      const { rows } = await client.query('SELECT password FROM account WHERE "userId" = $1', [resetToken])
      assert.match(rows[0].password, /^\$2b\$12\$/)
      assert(await bcrypt.compare(newPassword, rows[0].password))
      assert.equal((await post(resetPath, { token: resetToken, newPassword })).status, 400)
    },
    drop: async () => {
      await client.end()
      await maintain(maintenanceUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** A load of one-time tokens, like that of exchanges. */
export async function oneTimeTokens(server: Server, database: BetterAuth, amount: number): Promise<Load> {
  const token = await database.newOneTimeTokens(amount + 50)
  return { server, path: verifyPath, body: () => ({ token: token() }), status: 200, connections: 16, amount }
}

export function betterAuthVariants(
  server: Server,
  database: BetterAuth,
  { exchanges, resets }: { exchanges: number; resets: number },
): Variant[] {
  return [
    {
      name: 'better-auth: one-time token',
      baseline: 'exchange',
      note: oneTimeTokenNote,
      run: async () => measure(await oneTimeTokens(server, database, exchanges)),
    },
    {
      name: 'better-auth: reset, 1 connection',
      baseline: 'reset, 1 connection',
      note: resetNote,
      run: async () => {
        const token = await database.newResetTokens(resets + 10)
        let number = 0
        const body = () => ({ token: token(), newPassword: `lantern meadow ${number++} river` })
        return measure({ server, path: resetPath, body, status: 200, connections: 1, amount: resets })
      },
    },
  ]
}
