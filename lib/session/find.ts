import type { Check } from '../contract/checks'
import { ApiError } from '../contract/errors'
import { refreshGraceSeconds } from '../contract/lifetimes'
import { beganWithPassword, isUnexpired, mayUsePassword } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { readCookie } from './cookie'
import {
  type PresentedClaims,
  readBearer,
  readRefreshToken,
  verifySessionToken,
} from './tokens'

/**
 * A session that has not ended, and whose parent has not ended. `familyId`: the ID of the
 * parent, or else its own.
 */
export type LiveSession = {
  sessionId: string
  familyId: string
  userId: string
  email: string
  endsAt: Date
}

/**
 * A condition on a row of `sessions`: the user is enabled, and may use a password if the
 * session began with one.
 */
export const isUserAllowed = Prisma.sql`(
  SELECT disabled_at IS NULL AND (NOT ${beganWithPassword} OR ${mayUsePassword}) FROM users WHERE users.id = user_id)`

/**
 * Returns the live session of the session JWT in a request. Throws SESSION_INVALID if
 * there is none.
 */
export async function requireSession(
  headers: Headers,
): Promise<LiveSession & { tokenExpiresAt: Date }> {
  return requireLive(await readSessionToken(headers), headers)
}

/**
 * Returns the claims of the session JWT in a request, or null. Its session may have ended.
 */
export async function readSessionToken(
  headers: Headers,
): Promise<PresentedClaims | null> {
  const token = readBearer(headers) ?? readCookie(headers, 'session')
  return token ? verifySessionToken(token) : null
}

/**
 * Returns the live session of the claims that `readSessionToken` has read. Throws
 * SESSION_INVALID if there is none.
 */
export async function requireLive(
  claims: PresentedClaims | null,
  headers: Headers,
): Promise<LiveSession & { tokenExpiresAt: Date }> {
  const session = await findSessionByClaims(claims)
  if (!session)
    throw new ApiError('SESSION_INVALID', { check: await explainSessionToken(headers) })

  return session
}

/** Returns why the session JWT in a request has no live session, for the log. */
async function explainSessionToken(headers: Headers): Promise<Check> {
  const token = readBearer(headers) ?? readCookie(headers, 'session')
  if (!token) return 'token_missing'

  const claims = await verifySessionToken(token, { mayHaveExpired: true })
  if (!claims) return 'token_unknown'
  if (claims.expiresAt <= new Date()) return 'token_expired'

  return explainSession(claims.sessionId)
}

/** Returns why a refresh token can't renew its session, for the log. */
export async function explainRefreshToken(refreshToken: string | null): Promise<Check> {
  if (!refreshToken) return 'token_missing'

  const presented = readRefreshToken(refreshToken)
  if (!presented) return 'token_unknown'

  return explainSession(presented.sessionId, presented.generation)
}

/**
 * Returns why a session was rejected. With the `generation` of a refresh token, also why
 * it can't be renewed. The statement is the same for all reasons.
 */
async function explainSession(
  sessionId: string,
  generation: number | null = null,
): Promise<Check> {
  const [session] = await prisma().$queryRaw<{ check: Check }[]>`
    SELECT CASE WHEN revoked_at IS NOT NULL THEN 'session_ended' WHEN NOT ${isUnexpired} THEN 'session_expired'
        WHEN ${isParentLive(Prisma.sql`sessions.parent_id`)} IS NOT TRUE THEN 'parent_ended'
        WHEN (SELECT disabled_at IS NOT NULL FROM users WHERE users.id = user_id) THEN 'disabled'
        WHEN renewable_until <= now() THEN 'not_renewable'
        WHEN ${isUserAllowed} IS NOT TRUE THEN 'sso_only'
        WHEN connection_id IS NOT NULL AND (
          SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id) IS NOT TRUE THEN 'connection'
        WHEN generation < ${generation}::int THEN 'token_newer'
        WHEN generation > ${generation}::int THEN 'token_used'
        ELSE 'session_changed' END AS check
    FROM sessions WHERE id = ${sessionId}`.catch(NothingChanged.rethrow)

  return session?.check ?? 'session_unknown'
}

/** Returns the live session of a session JWT and when the JWT expires, or null. */
export async function findSession(
  token: string,
): Promise<(LiveSession & { tokenExpiresAt: Date }) | null> {
  return findSessionByClaims(await verifySessionToken(token))
}

async function findSessionByClaims(claims: PresentedClaims | null) {
  if (!claims) return null
  const session = await findLive(claims.sessionId, Prisma.sql`user_id = ${claims.userId}`)
  return session && { ...session, tokenExpiresAt: claims.expiresAt }
}

/**
 * Returns the live session that a refresh token could renew, or null. Changes nothing.
 */
export async function findRefreshableSession(
  refreshToken: string,
): Promise<LiveSession | null> {
  const presented = readRefreshToken(refreshToken)
  if (!presented) return null

  const { sessionId, generation } = presented
  const isRefreshable = Prisma.sql`
    (generation = ${generation}
      OR generation = ${generation} + 1 AND rotated_at > now() - make_interval(secs => ${refreshGraceSeconds}))
    AND (renewable_until IS NULL OR renewable_until > now()) AND ${isUserAllowed}`

  return findLive(sessionId, isRefreshable)
}

async function findLive(
  sessionId: string,
  condition: Prisma.Sql,
): Promise<LiveSession | null> {
  // `email` is null if the user is disabled.
  type Row = Omit<LiveSession, 'email' | 'endsAt'> & {
    email: string | null
    endsAt: number
  }

  const [row] = await prisma().$queryRaw<Row[]>`
    SELECT id AS "sessionId", coalesce(parent_id, id) AS "familyId", user_id AS "userId",
      (SELECT email FROM users WHERE users.id = user_id AND disabled_at IS NULL) AS email,
      extract(epoch FROM expires_at)::float8 AS "endsAt"
    FROM sessions
    WHERE id = ${sessionId} AND revoked_at IS NULL AND ${isUnexpired} AND ${condition}
      AND ${isParentLive(Prisma.sql`sessions.parent_id`)}`
  if (!row || row.email === null) return null

  return { ...row, email: row.email, endsAt: dateFromEpoch(row.endsAt) }
}

/**
 * Returns a condition: whether a session has no parent, or its parent has not ended.
 * `parentId` is a column.
 */
export function isParentLive(parentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${parentId} IS NULL
    OR (SELECT revoked_at IS NULL AND ${isUnexpired} FROM sessions AS parent WHERE parent.id = ${parentId}))`
}
