// `npm run bench -- --peers`: another implementation of two of the operations.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { maintain } from './database'
import type { Requests } from './operations'
import { benchUrl, type Server } from './servers'

const userCount = 1_000
const verifyPath = '/api/auth/one-time-token/verify'
const resetPath = '/api/auth/reset-password'

export type BetterAuth = {
  /** The settings of better-auth's server. */
  settings: Record<string, string>
  /** The requests to better-auth that correspond to our operations. */
  requests: Record<string, (amount: number) => Promise<Requests>>
  /** Throws unless both operations work on this server. */
  check: (server: Server) => Promise<void>
  /** Disconnects and drops the database. */
  drop: () => Promise<void>
}

/** Creates a database with the tables of better-auth, which is built in `folder`. */
export async function openBetterAuth(
  maintenanceUrl: string,
  name: string,
  folder: string,
): Promise<BetterAuth> {
  const url = new URL(maintenanceUrl)
  url.pathname = `/${name}`
  const settings = {
    DATABASE_URL: url.href,
    BETTER_AUTH_SECRET: randomBytes(32).toString('base64url'),
  }
  await maintain(maintenanceUrl, `CREATE DATABASE ${name}`)
  execFileSync(process.execPath, ['--import', 'tsx', 'migrate.ts'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PUBLIC_URL: benchUrl, ...settings },
  })
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const oldHash = await bcrypt.hash('meadow lantern river', 12)
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
    await client.query('ANALYZE') // without statistics, the planner might scan the tables
    let next = first
    return () => {
      if (next === first + count) throw new Error('not enough tokens were stored')
      return token(++next)
    }
  }

  /**
   * Each token is for a different session, like the tokens from
   * `/one-time-token/generate`.
   */
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
  /**
   * Each token is for a different user with a password, like the tokens from
   * `/request-password-reset`.
   */
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
    requests: {
      exchange: async (amount) => {
        const next = await newOneTimeTokens(amount)
        return { path: verifyPath, body: () => ({ token: next() }) }
      },
      reset: async (amount) => {
        const next = await newResetTokens(amount)
        let number = 0
        return {
          path: resetPath,
          body: () => ({
            token: next(),
            newPassword: `lantern meadow ${number++} river`,
          }),
        }
      },
    },
    check: async (server) => {
      const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
      const post = (path: string, body: object) =>
        fetch(server.url + path, { ...json, body: JSON.stringify(body) })
      const oneTimeToken = (await newOneTimeTokens(1))()
      const verified = await post(verifyPath, { token: oneTimeToken })
      const cookie = verified.headers.getSetCookie()[0]!.split(';')[0]!
      const response = await fetch(`${server.url}/api/auth/get-session`, {
        headers: { cookie },
      })
      const { session } = (await response.json()) as { session: { id: string } }
      assert.equal(
        session.id,
        ((await verified.json()) as { session: { id: string } }).session.id,
      )
      assert.equal((await post(verifyPath, { token: oneTimeToken })).status, 400)

      const resetToken = (await newResetTokens(1))()
      const newPassword = 'lantern meadow river'
      assert.equal(
        (await post(resetPath, { token: resetToken, newPassword })).status,
        200,
      )
      assert.equal(
        (await post(resetPath, { token: resetToken, newPassword })).status,
        400,
      )
    },
    drop: async () => {
      await client.end()
      await maintain(maintenanceUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}
