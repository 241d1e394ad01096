import { dateFromEpoch, isUnexpired, prisma } from '../database/prisma'
import type { LiveSession } from './find'
import { endSessions } from './revoke'

/** A live session of a user. `lastUsedAt` is when it or a session of a dashboard got its last tokens. */
export type ListedSession = {
  id: string
  device: string | null
  createdAt: Date
  lastUsedAt: Date
  isCurrent: boolean
  method: 'password' | 'sso' | 'code'
  connection: { slug: string; name: string } | null
}

type Row = Omit<ListedSession, 'createdAt' | 'lastUsedAt'> & { times: [created: number, used: number] }

/** Returns the live sessions of a user, newest first: each with those that dashboards got from it counts as one. */
export async function listSessions({ userId, familyId }: LiveSession): Promise<ListedSession[]> {
  const rows = await prisma().$queryRaw<Row[]>`
    SELECT id, device, id = ${familyId} AS "isCurrent",
      coalesce(method, CASE WHEN connection_id IS NULL THEN 'password' ELSE 'sso' END) AS method,
      (SELECT json_build_object('slug', slug, 'name', name) FROM connections WHERE connections.id = connection_id) AS connection,
      ARRAY[extract(epoch FROM created_at), extract(epoch FROM greatest(created_at, rotated_at, (
        SELECT max(greatest(created_at, rotated_at)) FROM sessions AS child WHERE child.parent_id = sessions.id
      )))]::float8[] AS times
    FROM sessions
    WHERE user_id = ${userId} AND revoked_at IS NULL AND parent_id IS NULL AND ${isUnexpired}
    ORDER BY created_at DESC`
  return rows.map(({ times: [created, used], ...session }) => ({
    ...session,
    createdAt: dateFromEpoch(created),
    lastUsedAt: dateFromEpoch(used),
  }))
}

/** Ends a session that the user's list has. Ignores the ID of any other. */
export async function endListedSession(session: LiveSession, id: string): Promise<void> {
  const listed = await listSessions(session)
  if (listed.some((each) => each.id === id)) await endSessions([id])
}
