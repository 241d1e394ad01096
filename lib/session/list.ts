import type * as z from 'zod'
import type { SessionsResponse } from '../contract/schemas'
import { isUnexpired } from '../database/conditions'
import { dateFromEpoch, prisma } from '../database/prisma'
import { isActive, type LiveSession } from './find'
import { endSessions } from './revoke'

type ListedSession = z.output<typeof SessionsResponse>['sessions'][number]

type Row = Omit<ListedSession, 'createdAt' | 'lastUsedAt'> & {
  times: [created: number, used: number]
}

/**
 * Returns the live sessions of a user, newest first. Omits dashboards' sessions, which
 * have a parent in the list.
 */
export async function listSessions({
  userId,
  sessionId,
}: LiveSession): Promise<ListedSession[]> {
  const rows = await prisma().$queryRaw<Row[]>`
    SELECT id, device, id = ${sessionId} AS current, json_strip_nulls(json_build_object(
        'method', coalesce(method, CASE WHEN connection_id IS NULL THEN 'password' ELSE 'sso' END),
        'connection', (
          SELECT json_build_object('slug', slug, 'name', name) FROM connections WHERE connections.id = connection_id
        ))) AS "signedInWith",
      ARRAY[extract(epoch FROM created_at), extract(epoch FROM greatest(created_at, rotated_at, (
        SELECT max(greatest(created_at, rotated_at)) FROM sessions AS child WHERE child.parent_id = sessions.id
      )))]::float8[] AS times
    FROM sessions
    WHERE user_id = ${userId} AND revoked_at IS NULL AND parent_id IS NULL AND ${isUnexpired} ${isActive()}
    ORDER BY created_at DESC`

  return rows.map(({ times: [created, used], ...session }) => ({
    ...session,
    createdAt: dateFromEpoch(created).toISOString(),
    lastUsedAt: dateFromEpoch(used).toISOString(),
  }))
}

/** Ends a session of the user's list. Ignores the ID of any other session. */
export async function endListedSession(session: LiveSession, id: string): Promise<void> {
  const listed = await listSessions(session)
  if (listed.some((each) => each.id === id)) await endSessions([id], 'session_ended')
}
