import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { Prisma, prisma } from '../database/prisma'
import type { LiveSession } from '../session/find'
import type { AuthorizationRequest } from './authorization-request'
import type { Client } from './client'
import { verifyIdToken } from './id-token'

/** What a client demands of the sign-in of the user (OpenID Connect Core §3.1.2.1). */
export type Demand = {
  /**
   * When the user must have signed in, in milliseconds since 1970 by the database's clock,
   * or later. Null: at any time.
   */
  since: number | null
  /** Whether the user must sign in now, whatever session there is. */
  mustSignIn: boolean
}

/**
 * Returns what a client demands of a sign-in, or null if its `since` is in the future.
 * `session` is that of the browser, if there is one.
 */
export async function readDemand(
  { prompt, maxAge, since, hint }: AuthorizationRequest,
  { slug }: Client,
  session: LiveSession | null,
): Promise<Demand | null> {
  const isOther = hint !== null && !(await isOfUser(hint, slug, session))
  const mustSignIn = prompt === 'login' || isOther
  if (!mustSignIn && maxAge === null && since === null) return { since, mustSignIn }

  const [clock] = await prisma().$queryRaw<{ now: number }[]>`
    SELECT floor(extract(epoch FROM now()) * 1000)::float8 AS now`
  const { now } = clock!
  if (since !== null && since > now) return null

  const youngest = maxAge === null ? 0 : now - maxAge * 1000
  return { since: mustSignIn ? now : Math.max(since ?? 0, youngest), mustSignIn }
}

/** Whether an ID token is one of this client about the user of a session. */
async function isOfUser(
  hint: string,
  slug: string,
  session: LiveSession | null,
): Promise<boolean> {
  const stated = await verifyIdToken(hint)
  if (stated?.client !== slug) return false

  return session === null || session.userId === stated.userId
}

/**
 * Issues a code with which a client gets a session, valid for `lifetimes.code` seconds.
 * Returns null if `sessionId`, the session of the browser, has ended, or if it began
 * before `since`.
 */
export async function issueAuthorizationCode(
  sessionId: string,
  clientId: string,
  redirectUri: string,
  { challenge, nonce }: AuthorizationRequest,
  since: number | null,
): Promise<string | null> {
  const code = newSecret()
  const isNewEnough =
    since === null
      ? Prisma.empty
      : Prisma.sql`AND coalesce(authenticated_at, created_at) >= to_timestamp(${since}::float8 / 1000)`
  const issued = await prisma().$executeRaw`
    INSERT INTO authorization_codes (code_hash, client_id, parent_id, redirect_uri, code_challenge, nonce, expires_at)
    SELECT ${hashSecret(code)}, ${clientId}::uuid, id, ${redirectUri}, ${challenge}, ${nonce},
      now() + make_interval(secs => ${lifetimes.code})
    FROM sessions
    WHERE id = ${sessionId} AND parent_id IS NULL AND revoked_at IS NULL AND ${isUnexpired}
      AND (renewable_until IS NULL OR renewable_until > now()) ${isNewEnough}`

  return issued === 1 ? code : null
}
