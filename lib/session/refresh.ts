import { ApiError } from '../contract/errors'
import { refreshGraceSeconds } from '../contract/lifetimes'
import { isUnexpired } from '../database/conditions'
import { Prisma, prisma } from '../database/prisma'
import { log } from '../log/log'
import { explainRefreshToken, isParentLive, isUserAllowed } from './find'
import { issueTokens, readRefreshToken, type StoredSession } from './tokens'

/**
 * Renews a session. A replaced token revokes it after a grace period (RFC 9700 §4.14.2).
 * Throws REFRESH_INVALID.
 */
export async function refreshSession(refreshToken: string | null) {
  const presented = refreshToken && readRefreshToken(refreshToken)
  if (!presented)
    throw new ApiError('REFRESH_INVALID', {
      check: await explainRefreshToken(refreshToken),
    })

  const { sessionId, generation } = presented

  const isSettled = Prisma.sql`(
    rotated_at IS NULL OR rotated_at <= now() - make_interval(secs => ${refreshGraceSeconds}))`
  const rotates = Prisma.sql`generation = ${generation} AND ${isSettled}`
  const isReuse = Prisma.sql`(generation > ${generation} + 1 OR generation = ${generation} + 1 AND ${isSettled})`

  // One statement on one row. Concurrent refreshes wait for the row, and each sees the
  // changes of the previous one. A token with a generation above the stored one was
  // issued before the database was restored from a backup.
  const [row] = await prisma().$queryRaw<(StoredSession & { reused: boolean })[]>`
    UPDATE sessions SET
      generation = CASE WHEN ${rotates} THEN generation + 1 ELSE generation END,
      rotated_at = CASE WHEN ${rotates} THEN now() ELSE rotated_at END,
      revoked_at = CASE WHEN ${isReuse} THEN now() END
    WHERE id = ${sessionId} AND revoked_at IS NULL AND ${isUnexpired} AND generation >= ${generation}
      AND (renewable_until IS NULL OR renewable_until > now()) AND ${isUserAllowed}
      AND ${isParentLive(Prisma.sql`sessions.parent_id`)}
      AND (connection_id IS NULL OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))
    RETURNING id AS "sessionId", user_id AS "userId", generation, revoked_at IS NOT NULL AS reused,
      floor(extract(epoch FROM coalesce(authenticated_at, created_at)))::int AS "authenticatedAt", amr,
      (SELECT email FROM users WHERE users.id = user_id) AS email,
      (SELECT slug FROM connections WHERE connections.id = connection_id) AS connection,
      floor(extract(epoch FROM now()))::int AS now, floor(extract(epoch FROM expires_at))::int AS "endsAt"`

  if (!row)
    throw new ApiError('REFRESH_INVALID', {
      check: await explainRefreshToken(refreshToken),
    })

  if (row.reused) {
    log.warn({ sessionId }, 'a refresh token was reused: its session was revoked')
    throw new ApiError('REFRESH_INVALID', { check: 'token_used' })
  }

  return { ...issueTokens(row), userId: row.userId, sessionId }
}
