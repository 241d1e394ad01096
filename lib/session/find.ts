import type { Check } from '../contract/checks'
import { ApiError } from '../contract/errors'
import { refreshGraceSeconds } from '../contract/lifetimes'
import {
  beganWithOwnCredential,
  beganWithPasswordOnly,
  isUnexpired,
} from '../database/conditions'
import { mayUsePassword } from '../database/domain-rules'
import { NothingChanged } from '../database/errors'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { env } from '../settings/env'
import { readCookie } from './cookie'
import {
  type PresentedClaims,
  readBearer,
  readRefreshToken,
  verifySessionToken,
} from './tokens'

/** A session that has not ended. */
export type LiveSession = {
  sessionId: string
  userId: string
  email: string
  endsAt: Date
}

const isUserPermitted = Prisma.sql`(
  SELECT disabled_at IS NULL AND (NOT ${beganWithOwnCredential} OR ${mayUsePassword}) FROM users WHERE users.id = user_id)`

/**
 * Returns a condition on a row of `sessions`: the user is enabled, and may use a password if
 * the session began with a password or a passkey. If a second factor is required, a session
 * that began with a password had one.
 */
export function isUserAllowed(): Prisma.Sql {
  return env().SECOND_FACTOR === 'required'
    ? Prisma.sql`(${isUserPermitted} AND NOT ${beganWithPasswordOnly})`
    : isUserPermitted
}

const isParentLive = Prisma.sql`
  (SELECT revoked_at IS NULL AND ${isUnexpired} FROM sessions AS parent WHERE parent.id = sessions.parent_id)`
const isClientEnabled = Prisma.sql`
  (SELECT disabled_at IS NULL FROM clients WHERE clients.id = sessions.client_id)`

/**
 * Returns a condition on a row of `sessions`, after an `AND`: neither the browser nor a
 * client that got its session from it has been inactive for SESSION_IDLE_MINUTES. Empty
 * without that setting. A start and a renewal count as activity.
 */
export function isActive(): Prisma.Sql {
  const minutes = env().SESSION_IDLE_MINUTES
  if (minutes === undefined) return Prisma.empty

  const ofBrowser = Prisma.sql`coalesce(sessions.parent_id, sessions.id)`
  return Prisma.sql`AND greatest(
    (SELECT greatest(created_at, rotated_at) FROM sessions AS parent WHERE parent.id = ${ofBrowser}),
    (SELECT max(greatest(created_at, rotated_at)) FROM sessions AS child WHERE child.parent_id = ${ofBrowser})
  ) > now() - make_interval(mins => ${minutes})`
}

/** A condition on a row of `sessions`: whether it is a browser's own session. */
export const isOfBrowser = Prisma.sql`parent_id IS NULL`

/**
 * A condition on a row of `sessions`: whether it is that of an enabled client, and its
 * parent, the session of the browser, has not ended. Without `parent_id IS NOT NULL`, for
 * which the planner could read the whole partial index.
 */
export const isOfLiveClient = Prisma.sql`(${isParentLive} AND ${isClientEnabled})`

/** A condition on a row of `sessions`: `isOfBrowser` or `isOfLiveClient`. */
export const isFamilyLive = Prisma.sql`(${isOfBrowser} OR ${isOfLiveClient})`

/**
 * Returns the live session of the session JWT in a request. A client's session does not
 * count. Throws SESSION_INVALID if there is none.
 */
export async function requireSession(
  headers: Headers,
): Promise<LiveSession & { tokenExpiresAt: Date }> {
  const token = readSessionToken(headers)
  return requireLive(token, token ? await verifySessionToken(token) : null)
}

/** Returns the unverified session JWT in a request, or null. */
export function readSessionToken(headers: Headers): string | null {
  return readBearer(headers) ?? readCookie(headers, 'session')
}

/**
 * Returns the live session of a session JWT and its verified claims, by default only a
 * browser's own. `isAccepted`: a condition on the session. Throws SESSION_INVALID if there
 * is none.
 */
export async function requireLive(
  token: string | null,
  claims: PresentedClaims | null,
  isAccepted: Prisma.Sql = isOfBrowser,
): Promise<LiveSession & { tokenExpiresAt: Date }> {
  const session = await findSessionByClaims(claims, isAccepted)
  if (session) return session

  throw new ApiError('SESSION_INVALID', {
    check: await explainSessionToken(token, isAccepted),
  })
}

/**
 * Returns why a session JWT has no live session, for the log. `isAccepted`: a condition on
 * the session.
 */
async function explainSessionToken(
  token: string | null,
  isAccepted: Prisma.Sql,
): Promise<Check> {
  if (!token) return 'token_missing'

  const claims = await verifySessionToken(token, { mayHaveExpired: true })
  if (!claims) return 'token_unknown'
  if (claims.expiresAt <= new Date()) return 'token_expired'

  return explainSession(claims.sessionId, null, isAccepted)
}

/**
 * Returns why a refresh token can't renew its session, for the log. `isAccepted`: a
 * condition on the session.
 */
export async function explainRefreshToken(
  refreshToken: string | null,
  isAccepted: Prisma.Sql = isOfBrowser,
): Promise<Check> {
  if (!refreshToken) return 'token_missing'

  const presented = readRefreshToken(refreshToken)
  if (!presented) return 'token_unknown'

  return explainSession(presented.sessionId, presented.generation, isAccepted)
}

/**
 * Returns why a session was rejected. With the `generation` of a refresh token, also why
 * it can't be renewed. The statement is the same for all reasons.
 */
async function explainSession(
  sessionId: string,
  generation: number | null,
  isAccepted: Prisma.Sql,
): Promise<Check> {
  const [session] = await prisma().$queryRaw<{ check: Check }[]>`
    SELECT CASE WHEN revoked_at IS NOT NULL THEN 'session_ended' WHEN NOT ${isUnexpired} THEN 'session_expired'
        WHEN parent_id IS NOT NULL AND ${isParentLive} IS NOT TRUE THEN 'parent_ended'
        WHEN parent_id IS NOT NULL AND ${isClientEnabled} IS NOT TRUE THEN 'client_disabled'
        WHEN (${isAccepted}) IS NOT TRUE THEN 'token_client'
        WHEN (SELECT disabled_at IS NOT NULL FROM users WHERE users.id = user_id) THEN 'disabled'
        WHEN renewable_until <= now() THEN 'not_renewable'
        WHEN ${isUserPermitted} IS NOT TRUE THEN 'sso_only' ${explainSettings()}
        WHEN connection_id IS NOT NULL AND (
          SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id) IS NOT TRUE THEN 'connection'
        WHEN generation < ${generation}::int THEN 'token_newer'
        WHEN generation > ${generation}::int THEN 'token_used'
        ELSE 'session_changed' END AS check
    FROM sessions WHERE id = ${sessionId}`.catch(NothingChanged.rethrow)

  return session?.check ?? 'session_unknown'
}

/** Returns the reasons in `explainSession` that depend on settings, if they are on. */
function explainSettings(): Prisma.Sql {
  const { SECOND_FACTOR, SESSION_IDLE_MINUTES } = env()
  const missing = Prisma.sql`WHEN ${beganWithPasswordOnly} THEN 'factor_missing'`
  const idle = Prisma.sql`WHEN (true ${isActive()}) IS NOT TRUE THEN 'session_idle'`

  return Prisma.sql`
    ${SECOND_FACTOR === 'required' ? missing : Prisma.empty}
    ${SESSION_IDLE_MINUTES === undefined ? Prisma.empty : idle}`
}

/**
 * Returns a browser's live session and when its JWT expires, or null. `token` is the JWT.
 */
export async function findSession(
  token: string,
): Promise<(LiveSession & { tokenExpiresAt: Date }) | null> {
  return findSessionByClaims(await verifySessionToken(token), isOfBrowser)
}

async function findSessionByClaims(
  claims: PresentedClaims | null,
  isAccepted: Prisma.Sql,
) {
  if (!claims) return null

  const { sessionId, userId, expiresAt } = claims
  const session = await findLive(
    sessionId,
    Prisma.sql`user_id = ${userId} AND ${isAccepted}`,
  )

  return session && { ...session, tokenExpiresAt: expiresAt }
}

/**
 * Returns the browser's live session that a refresh token could renew, or null. Changes
 * nothing. `isAccepted`: a condition on the session.
 */
export async function findRefreshableSession(
  refreshToken: string,
  isAccepted: Prisma.Sql = isOfBrowser,
): Promise<LiveSession | null> {
  const presented = readRefreshToken(refreshToken)
  if (!presented) return null

  const { sessionId, generation } = presented
  const isRefreshable = Prisma.sql`
    (generation = ${generation}
      OR generation = ${generation} + 1 AND rotated_at > now() - make_interval(secs => ${refreshGraceSeconds}))
    AND (renewable_until IS NULL OR renewable_until > now()) AND ${isUserAllowed()} AND ${isAccepted} ${isActive()}`

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
    SELECT id AS "sessionId", user_id AS "userId",
      (SELECT email FROM users WHERE users.id = user_id AND disabled_at IS NULL) AS email,
      extract(epoch FROM expires_at)::float8 AS "endsAt"
    FROM sessions
    WHERE id = ${sessionId} AND revoked_at IS NULL AND ${isUnexpired} AND ${condition}`
  if (!row || row.email === null) return null

  return { ...row, email: row.email, endsAt: dateFromEpoch(row.endsAt) }
}
