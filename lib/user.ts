import { emailForms } from './contract/email-address'
import { dateFromEpoch, Prisma, prisma, transaction } from './database/prisma'
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
  const users = await prisma().user.findMany({ where: { OR: forms.map((form) => ({ email: form })) }, select: columns })
  return users.find((user) => user.email === forms[0]) ?? users[0] ?? null
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
  const created = await prisma().user.createMany({ data: [{ email: stored, ssoOnly }], skipDuplicates: true })
  return created.count === 1
}

/**
 * Disables a user: ends all sessions, and invalidates the codes and the reset token. Returns the
 * number of ended sessions.
 */
export async function disableUser(userId: string): Promise<number> {
  return transaction(async (tx) => {
    const ended = await endSessionsOf(tx, userId)
    await tx.resetToken.deleteMany({ where: { userId } })
    await tx.$executeRaw`UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${userId}`
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
  return transaction((tx) => endSessionsOf(tx, userId))
}

async function endSessionsOf(tx: Prisma.TransactionClient, userId: string): Promise<number> {
  await lockUser(tx, userId)
  return tx.$executeRaw`WITH ${endAllSessions(Prisma.sql`${userId}::uuid`)} SELECT id FROM revoked`
}

export type UserSession = { id: string; createdAt: Date; rotatedAt: Date | null; expiresAt: Date }

/** Returns the live sessions of a user, the newest first, without those that dashboards got from them. */
export async function sessionsOfUser(userId: string): Promise<UserSession[]> {
  const sessions = await prisma().$queryRaw<{ id: string; began: number; renewed: number | null; ends: number }[]>`
    SELECT id, extract(epoch FROM created_at)::float8 AS began, extract(epoch FROM rotated_at)::float8 AS renewed,
      extract(epoch FROM expires_at)::float8 AS ends
    FROM sessions
    WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now() AND parent_id IS NULL
    ORDER BY created_at DESC`
  return sessions.map(({ id, began, renewed, ends }) => ({
    id,
    createdAt: dateFromEpoch(began),
    rotatedAt: renewed === null ? null : dateFromEpoch(renewed),
    expiresAt: dateFromEpoch(ends),
  }))
}
