import { randomUUID } from 'node:crypto'
import { makeSignInOptions } from '../../../lib/passkey/sign-in'
import { makeRefreshToken } from '../../../lib/session/tokens'
import { type Algorithm, newPasskey, type Passkey } from '../authenticator'
import type { Sql, User } from '../fixtures'
import { keepSecret } from '../secrets'
import { newPasswordUser, type PasswordUser } from './password-user'

export type PasskeyUser = PasswordUser & { passkey: Passkey; passkeyId: string }

type Options = { algorithm?: Algorithm; isSynced?: boolean; signCount?: number }

/** Creates a user with a password and a passkey. */
export async function newPasskeyUser(
  sql: Sql,
  { email, ...options }: Options & { email?: string } = {},
): Promise<PasskeyUser> {
  const user = await newPasswordUser(sql, { cost: 4, ...(email && { email }) })
  const passkey = newPasskey(user.id, options)
  return { ...user, passkey, passkeyId: await storePasskey(sql, user, passkey) }
}

/** Stores a passkey of a user. Returns its ID. */
export async function storePasskey(
  sql: Sql,
  { id: userId }: Pick<User, 'id'>,
  { credentialId, publicKey, signCount, flags }: Passkey,
): Promise<string> {
  const id = randomUUID()
  const isSynced = (flags & 8) !== 0
  await sql(
    `INSERT INTO passkeys (credential_id, id, user_id, public_key, sign_count, backup_eligible, backed_up, transports, aaguid)
     VALUES ($1, $2, $3, $4, $5, $6, $6, '{internal}', '00000000-0000-0000-0000-000000000000')`,
    [credentialId, id, userId, publicKey, signCount, isSynced],
  )
  return id
}

/** Returns how many passkeys a user has. */
export async function countPasskeys(sql: Sql, { id }: { id: string }): Promise<number> {
  return (await sql('SELECT FROM passkeys WHERE user_id = $1', [id])).length
}

/** Returns a new challenge for a sign-in with a passkey. */
export async function newSignInChallenge(): Promise<string> {
  return keepSecret((await makeSignInOptions()).options.challenge)
}

/** Starts a session as a sign-in with a password does. Returns the refresh cookie. */
export async function newFreshSession(
  sql: Sql,
  { id: userId }: { id: string },
  columns: Record<string, string> = {},
): Promise<{ id: string; headers: { Cookie: string } }> {
  const id = randomUUID()
  const row = {
    method: "'password'",
    amr: "'{pwd}'",
    authenticated_at: 'now()',
    ...columns,
  }
  await sql(
    `INSERT INTO sessions (id, user_id, expires_at, ${Object.keys(row).join()})
     VALUES ($1, $2, now() + interval '7 days', ${Object.values(row).join()})`,
    [id, userId],
  )
  const refreshToken = keepSecret(makeRefreshToken({ sessionId: id, generation: 0 }))
  return { id, headers: { Cookie: `refresh=${refreshToken}` } }
}
