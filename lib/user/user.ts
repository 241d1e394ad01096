import { emailDomain, emailForms } from '../contract/email-address'
import { mayUsePassword } from '../database/domain-rules'
import {
  dateFromEpoch,
  Prisma,
  prisma,
  type Transaction,
  transaction,
} from '../database/prisma'
import { isOfUser } from '../event/of-user'
import { withEvents, writeEvent } from '../event/record'
import { isActive } from '../session/find'
import { endSessionsOfUser } from '../session/revoke'
import { sendsMail } from '../settings/env'

const rowsAtOnce = 10_000

export type User = {
  id: string
  email: string
  disabledAt: Date | null
  // whether the user's policy or the domain's connection permits no password
  ssoOnly: boolean
}

/**
 * Returns the user with an email address, ignoring case and the form of its domain (ASCII
 * or Unicode), or null.
 */
export async function findUserByEmail(email: string): Promise<User | null> {
  // an imported address may be invalid
  const forms = emailForms(email) ?? [email.toLowerCase()]
  const [user] = await findUsers(
    Prisma.sql`email = ANY (${forms}) ORDER BY email = ${forms[0]!} DESC LIMIT 1`,
  )
  return user ?? null
}

/** How a session began. `connection` is a slug, or null if there was none or it was removed. */
type Way = {
  method: 'password' | 'passkey' | 'sso' | 'code' | 'operator'
  connection: string | null
  device: string | null
}

/**
 * A user in a list. `connections`: the slugs of those to which the user is linked.
 * `lastSignIn`: null if no session is stored any more, about two weeks after the sign-in.
 */
export type ListedUser = User & {
  hasPassword: boolean
  hasSecondFactor: boolean
  connections: string[]
  lastSignIn: (Way & { createdAt: Date }) | null
}

/**
 * Returns up to `count` users whose email addresses sort after `after`, in that order.
 * `domain`: in ASCII and lower case. Null: users of all domains.
 */
export async function listUsers(
  after: string,
  count: number,
  domain: string | null = null,
): Promise<ListedUser[]> {
  type Row = Omit<ListedUser, 'lastSignIn'> & {
    lastSignIn: (Way & { createdAt: number }) | null
  }
  const ofDomain = domain
    ? Prisma.sql`email_domain = ${domain} AND email > ${after}`
    : Prisma.sql`email > ${after}`
  const more = Prisma.sql`has_password AS "hasPassword",
    second_factor_at IS NOT NULL AS "hasSecondFactor",
    ARRAY(
      SELECT slug FROM connections
      WHERE id = ANY (ARRAY(SELECT connection_id FROM identities WHERE user_id = users.id))
      ORDER BY slug) AS connections,
    (
      SELECT jsonb_build_object('createdAt', extract(epoch FROM created_at),
        'method', ${sessionMethod}, 'connection', ${sessionConnection}, 'device', device)
      FROM sessions WHERE user_id = users.id AND parent_id IS NULL
      ORDER BY created_at DESC LIMIT 1) AS "lastSignIn"`

  const rows = await findUsers<Row>(
    Prisma.sql`${ofDomain} ORDER BY email LIMIT ${count}`,
    more,
  )

  return rows.map(({ lastSignIn, ...user }) => ({
    ...user,
    lastSignIn: lastSignIn && {
      ...lastSignIn,
      createdAt: dateFromEpoch(lastSignIn.createdAt),
    },
  }))
}

/** Returns users with the columns of `User`, and with those in `more`. */
async function findUsers<Row extends User>(
  where: Prisma.Sql,
  more?: Prisma.Sql,
): Promise<Row[]> {
  const columns = more ? Prisma.sql`, ${more}` : Prisma.empty
  const rows = await prisma().$queryRaw<
    (Omit<Row, 'disabledAt'> & { disabledAt: number | null })[]
  >`
    SELECT id, email, extract(epoch FROM disabled_at)::float8 AS "disabledAt", NOT ${mayUsePassword} AS "ssoOnly"${columns}
    FROM users WHERE ${where}`

  return rows.map((row) => {
    const disabledAt = row.disabledAt === null ? null : dateFromEpoch(row.disabledAt)
    return { ...row, disabledAt } as Row
  })
}

/**
 * Creates a user without a password. Returns false if a user already has that email
 * address.
 */
export async function createUser(
  email: string,
  { ssoOnly = false } = {},
): Promise<boolean> {
  // finds an address with a Unicode domain too
  if (await findUserByEmail(email)) return false

  const stored = emailForms(email)?.[1] ?? email.toLowerCase()
  const user = {
    email: stored,
    emailDomain: emailDomain(stored),
    ...(ssoOnly && { passwordPolicy: 'never' }),
  }

  return transaction(async (tx) => {
    const [created] = await tx.user.createManyAndReturn({
      data: [user],
      skipDuplicates: true,
      select: { id: true },
    })
    if (created) await writeEvent(tx, 'user_added', { userId: created.id })

    return created !== undefined
  })
}

/**
 * Disables a user for an operator, so that no directory enables the user. Ends all
 * sessions, and invalidates codes and the reset token. Returns how many sessions ended.
 */
export async function disableUser(userId: string): Promise<number> {
  return transaction(async (tx) => {
    const ended = await endAccess(tx, userId)
    await tx.$executeRaw`
      UPDATE users SET disabled_at = coalesce(disabled_at, now()), disabled_by = NULL WHERE id = ${userId}`
    await writeEvent(tx, 'user_disabled', { userId })

    return ended
  })
}

/**
 * Locks the user's row, ends all sessions, and invalidates codes and the reset token.
 * Returns how many sessions ended.
 */
export async function endAccess(tx: Transaction, userId: string): Promise<number> {
  const ended = await endSessionsOfUser(tx, userId)
  await tx.resetToken.deleteMany({ where: { userId } })

  return ended
}

/** Allows a disabled user to sign in again. Ended sessions stay ended. */
export async function enableUser(userId: string): Promise<void> {
  const data = { disabledAt: null, disabledBy: null }
  await transaction(async (tx) => {
    await tx.user.update({ where: { id: userId }, data })
    await writeEvent(tx, 'user_enabled', { userId })
  })
}

/**
 * Allows passwords for a user or a domain where SSO is required, or undoes that. Returns
 * how many users changed.
 */
export async function allowPassword(
  of: { userId: string } | { domain: string },
  isAllowed = true,
): Promise<number> {
  const users =
    'userId' in of
      ? Prisma.sql`id = ${of.userId}`
      : Prisma.sql`email_domain = ${of.domain}`

  for (let total = 0; ; ) {
    const change = Prisma.sql`
      UPDATE users SET password_policy = ${isAllowed ? 'allowed' : null} WHERE id = ANY (ARRAY(
        SELECT id FROM users WHERE ${users} AND (password_policy = 'allowed') IS TRUE <> ${isAllowed} LIMIT ${rowsAtOnce}))`
    const about = { userId: Prisma.sql`id` }
    const changed = await prisma().$executeRaw(
      withEvents(change, 'password_policy_changed', about, Prisma.sql`id`),
    )
    if (changed === 0) return total
    total += changed
  }
}

/**
 * Ends all sessions of a user, and invalidates unused codes. Returns the number of ended
 * sessions.
 */
export async function signOutUser(userId: string): Promise<number> {
  return transaction((tx) => endSessionsOfUser(tx, userId))
}

/**
 * Changes a user's address, ends all sessions, and, if there is a mail server, notifies
 * both addresses. Null if another user has `email`.
 */
export async function renameUser(
  user: User,
  email: string,
  language: string,
): Promise<number | null> {
  const other = await findUserByEmail(email)
  if (other && other.id !== user.id) return null

  const stored = emailForms(email)![1]

  return transaction((tx) => changeAddress(tx, user, stored, language))
}

/**
 * Like `renameUser`, in a transaction. `email` is in lower case, with its domain in ASCII,
 * and no other user has it.
 */
export async function changeAddress(
  tx: Transaction,
  { id, email: formerEmail }: Pick<User, 'id' | 'email'>,
  email: string,
  language: string,
): Promise<number> {
  const ended = await endAccess(tx, id)
  await tx.mail.deleteMany({ where: { userId: id, dueAt: { not: null } } })
  await tx.$executeRaw`
    UPDATE users SET email = ${email}, email_domain = ${emailDomain(email)} WHERE id = ${id}`
  await writeEvent(tx, 'user_renamed', { userId: id })

  if (!sendsMail()) return ended

  const notice = { kind: 'email-changed', userId: id, language }
  await tx.mail.createMany({ data: [notice, { ...notice, formerEmail }] })

  return ended
}

/**
 * Deletes a user with all related data, and the events about the user. Returns how many
 * live sessions and identities were deleted.
 */
export async function deleteUser(
  userId: string,
): Promise<{ sessions: number; identities: number }> {
  return transaction(async (tx) => {
    const sessions = await endSessionsOfUser(tx, userId)
    const identities = await tx.identity.count({ where: { userId } })
    await deleteRejected(tx, userId)
    await forgetTester(tx, userId)
    await tx.user.delete({ where: { id: userId } })
    await tx.$executeRaw`DELETE FROM events WHERE ${isOfUser(userId)}`
    await writeEvent(tx, 'user_deleted', {})

    return { sessions, identities }
  })
}

/** Deletes the address of a user from the setup links that were tested with it. */
async function forgetTester(tx: Transaction, userId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE setup_links SET tried_as = NULL
    WHERE tried_as = (SELECT email FROM users WHERE id = ${userId}::uuid)`
}

/** Deletes the rejected sign-ins of a user's accounts, and those with the address. */
async function deleteRejected(tx: Transaction, userId: string): Promise<void> {
  const { email } = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  const addresses = emailForms(email) ?? [email]

  await tx.$executeRaw`
    DELETE FROM rejected_sign_ins
    WHERE email = ANY (${addresses}) OR (connection_id, issuer, subject) IN (
      SELECT connection_id, issuer, subject FROM identities WHERE user_id = ${userId})`
}

/** A session of the past weeks, possibly ended. */
export type UserSession = Awaited<ReturnType<typeof sessionsOfUser>>[number]

/** Expressions in a statement about `sessions`: the method and the connection of a `Way`. */
const sessionMethod = Prisma.sql`
  coalesce(method, CASE WHEN connection_id IS NULL THEN 'password' ELSE 'sso' END)`
const sessionConnection = Prisma.sql`
  (SELECT slug FROM connections WHERE connections.id = connection_id)`

/** Returns the sessions of a user, the newest first. Omits dashboards' sessions. */
async function sessionsOfUser(userId: string) {
  type Row = { id: string; isLive: boolean; times: [number, number, number | null] } & Way

  const sessions = await prisma().$queryRaw<Row[]>`
    SELECT id, revoked_at IS NULL AND expires_at > now() ${isActive()} AS "isLive", device,
      ${sessionMethod} AS method, ${sessionConnection} AS connection,
      ARRAY[extract(epoch FROM created_at), extract(epoch FROM expires_at), extract(epoch FROM rotated_at)]::float8[] AS times
    FROM sessions WHERE user_id = ${userId} AND parent_id IS NULL ORDER BY created_at DESC`

  return sessions.map(({ times: [began, ends, renewed], ...session }) => ({
    ...session,
    createdAt: dateFromEpoch(began),
    rotatedAt: renewed === null ? null : dateFromEpoch(renewed),
    expiresAt: dateFromEpoch(ends),
  }))
}

/** Returns the slug of a connection, or its ID if it was removed. */
async function findSlug(connectionId: string): Promise<string> {
  const where = { id: connectionId }
  const connection = await prisma().connection.findUnique({
    where,
    select: { slug: true },
  })

  return connection?.slug ?? connectionId
}

/** Returns the data about a user that only an operator may see. */
export async function detailsOfUser(id: string) {
  const select = {
    createdAt: true,
    passwordHash: true,
    secondFactorAt: true,
    disabledBy: true,
    secondFactor: { select: { failures: true } },
    _count: { select: { recoveryCodes: { where: { usedAt: null } } } },
    identities: { select: { subject: true, connection: { select: { slug: true } } } },
    passkeys: {
      select: { name: true, backedUp: true, createdAt: true, lastUsedAt: true },
      orderBy: { createdAt: 'desc' },
    } as const,
  }

  const user = await prisma().user.findUniqueOrThrow({ where: { id }, select })
  const { secondFactorAt: enabledAt, _count } = user
  const failures = user.secondFactor?.failures ?? 0

  return {
    createdAt: user.createdAt,
    disabledBy: user.disabledBy && (await findSlug(user.disabledBy)),
    hasPassword: user.passwordHash !== null,
    secondFactor: enabledAt && {
      enabledAt,
      recoveryCodesLeft: _count.recoveryCodes,
      failures,
    },
    passkeys: user.passkeys.map(({ backedUp, ...passkey }) => ({
      ...passkey,
      synced: backedUp,
    })),
    identities: user.identities.map(({ subject, connection }) => ({
      connection: connection.slug,
      subject,
    })),
    sessions: await sessionsOfUser(id),
  }
}
