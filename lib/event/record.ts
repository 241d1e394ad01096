import type { EventKind } from '../contract/events'
import { Prisma, type Transaction } from '../database/prisma'
import { recordsEvents } from '../settings/env'
import { currentOrigin } from './origin'

/**
 * What an event is about, as SQL expressions of the row that causes it, or as values.
 * Missing ones are null, or come from the origin of the request.
 */
export type About = {
  actor?: Prisma.Sql
  operator?: Prisma.Sql
  userId?: Prisma.Sql | string
  sessionId?: Prisma.Sql | string
  method?: Prisma.Sql | string
  connectionId?: Prisma.Sql | string
  clientId?: Prisma.Sql | string
  widgetId?: Prisma.Sql | string
  slug?: string
  changed?: string[]
  count?: number
}

/**
 * Returns the statement that writes an event for each row of `from`, or one without
 * `from`. Its text depends on the call, not on the values.
 */
export function insertEvents(
  kind: EventKind,
  about: About,
  from = Prisma.empty,
): Prisma.Sql {
  const origin = currentOrigin()
  const { actor, operator, userId, sessionId, method } = about
  const connectionId = about.connectionId ?? origin.connectionId ?? null
  const clientId = about.clientId ?? origin.clientId ?? null

  return Prisma.sql`
    INSERT INTO events (kind, actor, operator, command, user_id, session_id, method, connection_id, client_id, widget_id,
      slug, changed, count, device, network, request_id)
    SELECT ${kind}, ${actor ?? origin.actor}, ${operator ?? origin.operator ?? null}, ${origin.command ?? null},
      ${userId ?? null}::uuid, ${sessionId ?? null}::uuid, ${method ?? null}, ${connectionId}::uuid, ${clientId}::uuid,
      ${about.widgetId ?? null}::uuid, ${about.slug ?? null}, ${about.changed ?? null}::text[], ${about.count ?? null}::int,
      ${origin.device ?? null}, ${origin.network ?? null}, ${origin.requestId ?? null}
    ${from}`
}

/**
 * Returns a CTE, after a comma, that writes an event for each row of `from`, such as
 * `FROM revoked`. Empty with EVENTS_DAYS=0. PostgreSQL runs it with the statement, so that
 * a change and its event are stored together.
 *
 * @example
 * WITH changed AS (UPDATE … RETURNING id)${recordEvents('password_changed', { userId: Prisma.sql`id` },
 *   Prisma.sql`FROM changed`)} SELECT 1 FROM changed
 */
export function recordEvents(
  kind: EventKind,
  about: About,
  from = Prisma.empty,
): Prisma.Sql {
  if (!recordsEvents()) return Prisma.empty
  return Prisma.sql`, ${Prisma.raw(`${kind}_event`)} AS (${insertEvents(kind, about, from)})`
}

/**
 * Returns columns, after a comma, that a CTE returns only for its events. Empty with
 * EVENTS_DAYS=0.
 */
export function eventColumns(columns: Prisma.Sql): Prisma.Sql {
  return recordsEvents() ? Prisma.sql`, ${columns}` : Prisma.empty
}

/**
 * Returns a statement that makes a change and writes an event for each changed row. Its
 * row count is that of the change. `columns`: what `about` reads of the changed rows. With
 * EVENTS_DAYS=0, returns the change.
 */
export function withEvents(
  change: Prisma.Sql,
  kind: EventKind,
  about: About,
  columns = Prisma.sql`1 AS one`,
): Prisma.Sql {
  if (!recordsEvents()) return change

  const recorded = recordEvents(kind, about, Prisma.sql`FROM changed`)
  return Prisma.sql`WITH changed AS (${change} RETURNING ${columns})${recorded} SELECT 1 FROM changed`
}

/**
 * Returns a statement that issues a link for a user, writes its event, and returns
 * `expiresAt` as before. With EVENTS_DAYS=0, returns the statement.
 */
export function recordIssued(
  kind: Extract<EventKind, 'sign_in_link_issued' | 'reset_link_issued'>,
  issue: Prisma.Sql,
  userId: string,
): Prisma.Sql {
  if (!recordsEvents()) return issue

  const recorded = recordEvents(kind, { userId }, Prisma.sql`FROM issued`)
  return Prisma.sql`WITH issued AS (${issue})${recorded} SELECT "expiresAt" FROM issued`
}

/**
 * Writes an event in the transaction of a command that has changed something with a model
 * of Prisma. Does nothing with EVENTS_DAYS=0.
 */
export async function writeEvent(
  tx: Transaction,
  kind: EventKind,
  about: About,
): Promise<void> {
  if (recordsEvents()) await tx.$executeRaw(insertEvents(kind, about))
}
