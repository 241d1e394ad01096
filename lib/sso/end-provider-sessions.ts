import { Prisma, prisma, transaction } from '../database/prisma'
import { codeIsUsable, lockUsers, revokeSessions } from '../session/revoke'
import { clockToleranceSeconds } from './clock'
import type { Connection } from './connection'

/** Who has signed out at the provider, and when, in seconds since 1970 by its clock. */
type Logout = {
  issuer: string
  subject: string | null
  providerSession: string | null
  issuedAt: number
}

/**
 * Ends the sessions of a sign-out at the provider: those of one session there, or all of a
 * person if only the subject is known. A repeated token ends no session that began later.
 * Returns how many ended.
 */
export async function endProviderSessions(
  { id }: Pick<Connection, 'id'>,
  { issuer, subject, providerSession, issuedAt }: Logout,
): Promise<number> {
  const subjectUserId = await findSubject(id, issuer, subject)
  const others = await findUsersOfSession(id, providerSession)
  const userIds = [...new Set([...(subjectUserId ? [subjectUserId] : []), ...others])]
  if (userIds.length === 0) return 0

  // Sessions without an ID of the provider began before the update, or the provider sends
  // the ID only now. A session at the provider never begins again, so the clocks may differ.
  const isOfSession = Prisma.sql`
    provider_session = ${providerSession}::text AND created_at < to_timestamp(${issuedAt + clockToleranceSeconds}::float8)`
  const isOfSubject = Prisma.sql`
    user_id = ${subjectUserId}::uuid AND (${providerSession}::text IS NULL OR provider_session IS NULL)
    AND created_at < to_timestamp(${issuedAt + 1}::float8)`
  const isMeant = Prisma.sql`
    user_id = ANY (${userIds}::uuid[]) AND connection_id = ${id}::uuid AND (${isOfSession} OR ${isOfSubject})`

  return transaction(async (tx) => {
    await lockUsers(tx, userIds)
    return tx.$executeRaw`
      WITH ${revokeSessions(isMeant)}, ended_codes AS (
        DELETE FROM exchange_codes WHERE ${isMeant} AND ${codeIsUsable}
      )
      SELECT id FROM revoked`
  })
}

async function findSubject(
  connectionId: string,
  issuer: string,
  subject: string | null,
): Promise<string | null> {
  if (subject === null) return null

  const where = { connectionId_issuer_subject: { connectionId, issuer, subject } }
  const identity = await prisma().identity.findUnique({ where, select: { userId: true } })

  return identity?.userId ?? null
}

/** Returns the IDs of the users who have a session or a code of a session at the provider. */
async function findUsersOfSession(
  connectionId: string,
  providerSession: string | null,
): Promise<string[]> {
  if (providerSession === null) return []

  const rows = await prisma().$queryRaw<{ userId: string }[]>`
    SELECT user_id AS "userId" FROM sessions
    WHERE provider_session = ${providerSession} AND connection_id = ${connectionId}::uuid AND revoked_at IS NULL
    UNION
    SELECT user_id FROM exchange_codes
    WHERE provider_session = ${providerSession} AND connection_id = ${connectionId}::uuid AND ${codeIsUsable}`

  return rows.map(({ userId }) => userId)
}
