import { randomUUID } from 'node:crypto'
import { hashSecret, newSecret } from '../../../lib/crypto/token'
import { issueResetToken } from '../../../lib/password/reset'
import { makeRefreshToken, signSessionToken } from '../../../lib/session/tokens'
import {
  exchangePath,
  newCode,
  type Post,
  type Sql,
  type Tokens,
  type User,
} from '../fixtures'
import { keepSecret } from '../secrets'

export type { Tokens }

/** Signs a user in with a new code, and returns the tokens of the session. */
export async function signInByCode(
  post: Post,
  user: User,
  headers: Record<string, string> = {},
): Promise<Tokens> {
  const { body } = await post(exchangePath, { code: await newCode(user) }, headers)
  return body as Tokens
}

/** A user with live sessions, unused codes and a reset token. */
export type Account = User & {
  sessions: (Tokens & { id: string })[]
  codes: string[]
  resetToken: string
}

/**
 * Creates an account with one INSERT per table, because sign-ins would take too long for
 * thousands of accounts.
 */
export async function newAccount(
  sql: Sql,
  sessionCount: number,
  codeCount: number,
): Promise<Account> {
  const email = `user-${randomUUID()}@example.com`
  const codes = Array.from({ length: codeCount }, () => keepSecret(newSecret()))
  const ids = Array.from({ length: sessionCount }, () => randomUUID())
  const [user] = await sql(
    `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id`,
    [email],
  )
  const id: string = user!.id
  await sql(
    `WITH session AS (
       INSERT INTO sessions (id, user_id, expires_at) SELECT unnest($2::uuid[]), $1, now() + interval '7 days'
     )
     INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT unnest($3::bytea[]), $1, now() + interval '1 hour'`,
    [id, ids, codes.map((code) => Buffer.from(hashSecret(code)))],
  )
  const issuedAt = Math.floor(Date.now() / 1000)
  const times = { authenticatedAt: issuedAt, issuedAt, expiresAt: issuedAt + 3600 }
  const claims = { userId: id, email, connection: null, amr: null, ...times }
  const sessions = ids.map((sessionId) => ({
    id: sessionId,
    token: keepSecret(signSessionToken({ ...claims, sessionId })),
    refreshToken: keepSecret(makeRefreshToken({ sessionId, generation: 0 })),
  }))
  return {
    id,
    email,
    sessions,
    codes,
    resetToken: keepSecret((await issueResetToken(id)).secret),
  }
}

/** Returns the IDs of the live sessions of a user. */
export const liveSessionsOf = (sql: Sql, { id }: { id: string }) =>
  sql('SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [id])

/** Returns the kinds of the emails to a user, in the order of their requests. */
export async function mailsOf(sql: Sql, { id }: { id: string }): Promise<string[]> {
  const rows = await sql(
    'SELECT kind FROM mails WHERE user_id = $1 ORDER BY requested_at',
    [id],
  )
  return rows.map(({ kind }) => kind)
}
