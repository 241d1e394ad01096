import { emailForms } from './contract/email-address'
import { prisma } from './database/prisma'
import { part, type Sql, sql, transaction } from './database/sql'
import { endAllSessions, lockUser } from './session/revoke'

export type User = {
  id: string
  email: string
  disabledAt: Date | null
  ssoOnly: boolean
}
const columns = { id: true, email: true, disabledAt: true, ssoOnly: true }

/** Returns the user with an e-mail address, ignoring case and the form of its domain, or null. */
export async function findUserByEmail(email: string): Promise<User | null> {
  const forms = emailForms(email) ?? [email.toLowerCase()] // an imported address can be of another form
  const [user] = await sql<User>`
    SELECT id, email, disabled_at AS "disabledAt", sso_only AS "ssoOnly" FROM users
    WHERE email = ANY (${forms}) ORDER BY email = ${forms[0]!} DESC LIMIT 1`
  return user ?? null
}

/** Returns up to `count` users whose e-mail addresses sort after `after`, in that order. */
export async function listUsers(after: string, count: number): Promise<User[]> {
  return prisma().user.findMany({
    where: { email: { gt: after } },
    orderBy: { email: 'asc' },
    take: count,
    select: columns,
  })
}

/**
 * Creates a user with an e-mail address, whose domain is stored in ASCII, and no password. Returns
 * whether it did: not if a user already has that e-mail address.
 */
export async function createUser(email: string, { ssoOnly = false } = {}): Promise<boolean> {
  if (await findUserByEmail(email)) return false // perhaps with a domain in Unicode
  const stored = emailForms(email)?.[1] ?? email.toLowerCase()
  // SQL, because Prisma would set created_at from the clock of this process.
  const created = ssoOnly
    ? sql`INSERT INTO users (email, sso_only) VALUES (${stored}, true) ON CONFLICT (email) DO NOTHING RETURNING 1`
    : sql`INSERT INTO users (email) VALUES (${stored}) ON CONFLICT (email) DO NOTHING RETURNING 1`
  return (await created).length === 1
}

/**
 * Disables a user: ends all sessions, and invalidates the codes and the reset token. Returns the
 * number of ended sessions.
 */
export async function disableUser(userId: string): Promise<number> {
  return transaction(async (sql) => {
    const ended = await endSessionsOf(sql, userId)
    await sql`DELETE FROM reset_tokens WHERE user_id = ${userId}`
    await sql`UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${userId}`
    return ended
  })
}

/** Lets a disabled user sign in again. Earlier sessions stay ended. */
export async function enableUser(userId: string): Promise<void> {
  await prisma().user.update({ where: { id: userId }, data: { disabledAt: null } })
}

/** Lets a user have a password who could only sign in through an identity provider. */
export async function allowPassword(userId: string): Promise<void> {
  await prisma().user.update({ where: { id: userId }, data: { ssoOnly: false } })
}

/** Ends all sessions of a user, and invalidates unused codes. Returns the number of ended sessions. */
export async function signOutUser(userId: string): Promise<number> {
  return transaction((sql) => endSessionsOf(sql, userId))
}

async function endSessionsOf(sql: Sql, userId: string): Promise<number> {
  await lockUser(sql, userId)
  return (await sql`WITH ${endAllSessions(part`${userId}::uuid`)} SELECT id FROM revoked`).length
}

export type UserSession = { id: string; createdAt: Date; rotatedAt: Date | null; expiresAt: Date }

/** Returns the live sessions of a user, the newest first. */
export async function sessionsOfUser(userId: string): Promise<UserSession[]> {
  return sql<UserSession>`
    SELECT id, created_at AS "createdAt", rotated_at AS "rotatedAt", expires_at AS "expiresAt"
    FROM sessions WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now()
    ORDER BY created_at DESC`
}
