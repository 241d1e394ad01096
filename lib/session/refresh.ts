import { ApiError } from '../contract/errors'
import { refreshGraceSeconds } from '../contract/lifetimes'
import { isUnexpired } from '../database/conditions'
import { Prisma, prisma } from '../database/prisma'
import { eventColumns, recordEvents } from '../event/record'
import { log } from '../log/log'
import { explainRefreshToken, isActive, isOfBrowser, isUserAllowed } from './find'
import { noticeClients } from './revoke'
import { issueTokens, type Refresh, readRefreshToken, type StoredSession } from './tokens'

/**
 * Renews the session of a browser. `presented` is what `readRefreshToken` reads from the
 * token. Throws REFRESH_INVALID.
 */
export async function refreshSession(
  refreshToken: string | null,
  presented: Refresh | null = refreshToken ? readRefreshToken(refreshToken) : null,
) {
  const row = presented && (await rotate(presented, isOfBrowser))
  if (!row)
    throw new ApiError('REFRESH_INVALID', {
      check: await explainRefreshToken(refreshToken),
    })

  if (row.reused) throw new ApiError('REFRESH_INVALID', { check: 'token_used' })

  return { ...issueTokens(row), userId: row.userId, sessionId: row.sessionId }
}

export type RotatedSession = StoredSession & {
  /** Whether a replaced token was presented, so that the session was revoked. */
  reused: boolean
}

/**
 * Renews a session. A replaced token revokes it after a grace period (RFC 9700 §4.14.2).
 * `isAccepted` is a condition on the session, and `moreColumns` are returned too. Returns
 * null if the token can't renew it.
 */
export async function rotate(
  { sessionId, generation }: Refresh,
  isAccepted: Prisma.Sql,
  moreColumns = Prisma.empty,
): Promise<RotatedSession | null> {
  const isSettled = Prisma.sql`(
    rotated_at IS NULL OR rotated_at <= now() - make_interval(secs => ${refreshGraceSeconds}))`
  const rotates = Prisma.sql`generation = ${generation} AND ${isSettled}`
  const isReuse = Prisma.sql`(generation > ${generation} + 1 OR generation = ${generation} + 1 AND ${isSettled})`

  // One statement on one row. Concurrent refreshes wait for the row, and each sees the
  // changes of the previous one. A token with a generation above the stored one was
  // issued before the database was restored from a backup.
  const rotation = Prisma.sql`
    UPDATE sessions SET
      generation = CASE WHEN ${rotates} THEN generation + 1 ELSE generation END,
      rotated_at = CASE WHEN ${rotates} THEN now() ELSE rotated_at END,
      revoked_at = CASE WHEN ${isReuse} THEN now() END
    WHERE id = ${sessionId} AND revoked_at IS NULL AND ${isUnexpired} AND generation >= ${generation}
      AND (renewable_until IS NULL OR renewable_until > now()) AND ${isUserAllowed()} AND ${isAccepted} ${isActive()}
      AND (connection_id IS NULL OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))
    RETURNING id AS "sessionId", user_id AS "userId", generation, revoked_at IS NOT NULL AS reused,
      floor(extract(epoch FROM coalesce(authenticated_at, created_at)))::int AS "authenticatedAt", amr, method,
      (SELECT email FROM users WHERE users.id = user_id) AS email,
      (SELECT slug FROM connections WHERE connections.id = connection_id) AS connection,
      floor(extract(epoch FROM now()))::int AS now, floor(extract(epoch FROM expires_at))::int AS "endsAt"
      ${moreColumns}${eventColumns(ofReuse)}`

  const [row] = await prisma().$queryRaw<RotatedSession[]>(recordReuse(rotation))

  if (row?.reused) {
    log.warn({ sessionId }, 'a refresh token was reused: its session was revoked')
    await noticeClients(sessionId)
  }

  return row ?? null
}

/** The columns of a rotation that only the event of a reused token needs. */
const ofReuse = Prisma.sql`connection_id, client_id`

/** What that event reads of the row of a rotation. */
const reused = {
  userId: Prisma.sql`"userId"`,
  sessionId: Prisma.sql`"sessionId"`,
  connectionId: Prisma.sql`connection_id`,
  clientId: Prisma.sql`client_id`,
}

/** Adds the event of a reused token to a rotation. */
function recordReuse(rotation: Prisma.Sql): Prisma.Sql {
  const recorded = recordEvents(
    'refresh_token_reused',
    reused,
    Prisma.sql`FROM rotated WHERE reused`,
  )
  if (recorded === Prisma.empty) return rotation

  return Prisma.sql`WITH rotated AS (${rotation})${recorded} SELECT * FROM rotated`
}
