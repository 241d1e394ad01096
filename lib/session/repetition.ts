import { createHmac } from 'node:crypto'
import type { Caller } from '../contract/caller'
import { hashSecret, readUuid } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { env } from '../settings/env'
import { isOfBrowser, isUserAllowed } from './find'
import type { StoredSession } from './tokens'

// A browser repeats a POST if the connection closes before the response. Only the same
// request of the same browser gets the answer of the first (docs/decisions/0014).

/** For how long the same request gets the answer of the first. */
export const repetitionSeconds = 60

/** How the session that a request has started is recognized. */
export type Repetition = {
  /** The ID of the session that this request starts, or has started. */
  id: string
  /** Its IDs under all configured keys. */
  ids: string[]
}

/**
 * Returns how the session of a request is recognized, or null without an `Idempotency-Key`
 * or the cookie of the browser. `credential`: what the body names, such as a code.
 */
export function identifyRepetition(
  operation: string,
  credential: string,
  { idempotencyKey, browser }: Caller,
): Repetition | null {
  if (idempotencyKey === null || browser === null) return null

  const text = JSON.stringify([operation, idempotencyKey, credential])
  const ids = env().SESSION_SIGNING_KEYS.repetitionKeys.map((key) =>
    readUuid(createHmac('sha256', key).update(text).digest('hex').slice(0, 32)),
  )

  return { id: ids[0]!, ids }
}

/** Returns the hash of the browser's cookie, which its sessions store, or null. */
export function hashBrowser({ browser }: Caller): Uint8Array<ArrayBuffer> | null {
  return browser === null ? null : hashSecret(browser)
}

/**
 * Returns the session with one of these IDs if this browser has just started it and could
 * still renew it, and holds no other live session. Otherwise null. `isAnswered`: one more
 * condition on the session.
 */
export async function findRepeated(
  ids: string[],
  caller: Caller,
  isAnswered = Prisma.sql`true`,
): Promise<StoredSession | null> {
  const browserHash = hashBrowser(caller)
  if (!browserHash) return null

  // An array of a subquery, because the planner could read all sessions of browsers if it
  // knew that the array is empty.
  const heldIds = await caller.sessionIds
  const [session] = await prisma().$queryRaw<StoredSession[]>`
    SELECT id AS "sessionId", user_id AS "userId", generation, amr, method,
      (SELECT email FROM users WHERE users.id = user_id) AS email,
      (SELECT slug FROM connections WHERE connections.id = connection_id) AS connection,
      floor(extract(epoch FROM authenticated_at))::int AS "authenticatedAt",
      floor(extract(epoch FROM now()))::int AS now, floor(extract(epoch FROM expires_at))::int AS "endsAt"
    FROM sessions
    WHERE id = ANY (${ids}::uuid[]) AND browser_hash = ${browserHash} AND ${isOfBrowser} AND ${isAnswered}
      AND created_at > now() - make_interval(secs => ${repetitionSeconds}) AND revoked_at IS NULL AND ${isUnexpired}
      AND generation = 0 AND rotated_at IS NULL AND (renewable_until IS NULL OR renewable_until > now())
      AND ${isUserAllowed()}
      AND (connection_id IS NULL OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))
      AND NOT EXISTS (
        SELECT FROM sessions AS held
        WHERE held.id = ANY (ARRAY(SELECT unnest(${heldIds}::uuid[])))
          AND held.id <> sessions.id AND held.revoked_at IS NULL
          AND (held.expires_at > now()) IS TRUE)`.catch(NothingChanged.rethrow)

  return session ?? null
}
