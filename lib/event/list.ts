import {
  type AccountEvent,
  type Actor,
  accountEventDays,
  accountEvents,
  type EventKind,
  type eventFields,
} from '../contract/events'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { isOfUser } from './of-user'

const pageSize = 1_000
const shownInAccount = 50

/** Which events to list. `connectionId` and `userId` are IDs, possibly of removed rows. */
export type EventFilter = {
  since?: Date
  kind?: EventKind
  connectionId?: string
  userId?: string
}

/** An event as operators see it. Fields without a value are missing. */
export type ListedEvent = Partial<Record<keyof typeof eventFields, unknown>> & {
  at: Date
  kind: EventKind
  actor: Actor
}

type Row = Omit<Prisma.EventGetPayload<object>, 'at' | 'changed'> & {
  at: number // in seconds
  changed: string[] | null
}

/** Yields events, the oldest first. Reads them in pages. */
export async function* listEvents(filter: EventFilter): AsyncGenerator<ListedEvent> {
  let last: Row | undefined

  do {
    const rows = await readPage(filter, last)

    yield* await describeEvents(rows)
    last = rows.length === pageSize ? rows.at(-1) : undefined
  } while (last)
}

/** Returns the events after `last`, or the first ones. */
async function readPage(filter: EventFilter, last?: Row): Promise<Row[]> {
  const { since, kind, connectionId, userId } = filter
  const from = last?.at ?? (since && since.getTime() / 1_000)
  const start = from === undefined ? undefined : Prisma.sql`to_timestamp(${from}::float8)`

  const conditions = [
    Prisma.sql`true`,
    start && Prisma.sql`"at" >= ${start}`,
    last && Prisma.sql`("at" > ${start} OR id > ${last.id})`,
    kind && Prisma.sql`kind = ${kind}`,
    connectionId && Prisma.sql`connection_id = ${connectionId}::uuid`,
    userId && isOfUser(userId, start),
  ].filter((condition) => condition instanceof Prisma.Sql)

  return prisma().$queryRaw`
    SELECT extract(epoch FROM "at")::float8 AS "at", id, kind, actor, operator, command, user_id AS "userId",
      session_id AS "sessionId", method, connection_id AS "connectionId", client_id AS "clientId",
      widget_id AS "widgetId", slug, changed, count, "check", device, network, request_id AS "requestId"
    FROM events WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY events."at", id LIMIT ${pageSize}`
}

/** Replaces the IDs of what still exists by slugs and addresses. */
async function describeEvents(rows: Row[]): Promise<ListedEvent[]> {
  const find = (ids: (string | null)[]) => ({
    where: { id: { in: [...new Set(ids.filter((id) => id !== null))] } },
  })
  const slug = { id: true, slug: true }
  const [users, connections, clients, widgets] = await Promise.all([
    prisma().user.findMany({
      ...find(rows.map(({ userId }) => userId)),
      select: { id: true, email: true },
    }),
    prisma().connection.findMany({
      ...find(rows.map(({ connectionId }) => connectionId)),
      select: slug,
    }),
    prisma().client.findMany({
      ...find(rows.map(({ clientId }) => clientId)),
      select: slug,
    }),
    prisma().widget.findMany({
      ...find(rows.map(({ widgetId }) => widgetId)),
      select: slug,
    }),
  ])

  const emails = new Map(users.map(({ id, email }) => [id, email]))
  const slugs = new Map(
    [...connections, ...clients, ...widgets].map(({ id, slug }) => [id, slug]),
  )
  const name = (id: string | null) => id && (slugs.get(id) ?? id)

  return rows.map((row) => {
    const values: Record<keyof typeof eventFields, unknown> = {
      at: dateFromEpoch(row.at),
      kind: row.kind,
      actor: row.actor,
      operator: row.operator,
      command: row.command,
      user: row.userId && emails.get(row.userId),
      userId: row.userId,
      sessionId: row.sessionId,
      method: row.method,
      connection: name(row.connectionId),
      client: name(row.clientId),
      widget: name(row.widgetId),
      slug: row.slug,
      changed: row.changed,
      count: row.count,
      check: row.check,
      device: row.device,
      network: row.network,
      requestId: row.requestId,
    }
    const present = Object.entries(values).filter(([, value]) => value != null)

    return Object.fromEntries(present) as ListedEvent
  })
}

/**
 * Returns the connection with a slug, its ID if it was removed, or null if there was
 * never one, as far as the events know.
 */
export async function findConnectionId(slug: string): Promise<string | null> {
  const connection = await prisma().connection.findUnique({
    where: { slug },
    select: { id: true },
  })
  if (connection) return connection.id

  const removed = await prisma().event.findFirst({
    where: { kind: 'connection_removed', slug },
    orderBy: [{ at: 'desc' }, { id: 'desc' }],
    select: { connectionId: true },
  })
  return removed?.connectionId ?? null
}

/** An event as /account shows it to the user. */
export type OwnEvent = {
  id: string
  at: Date
  kind: AccountEvent
  isByOther: boolean // an operator, a directory or a provider has caused it
  method: string | null
  device: string | null
  network: string | null
}

/**
 * Returns the events of the past `accountEventDays` days that a user may see, the newest
 * first, and no more than 50.
 */
export async function listOwnEvents(userId: string): Promise<OwnEvent[]> {
  type Row = Omit<OwnEvent, 'at'> & { at: number }
  const kinds: string[] = [...accountEvents]
  const start = Prisma.sql`now() - make_interval(days => ${accountEventDays}::int)`

  const rows = await prisma().$queryRaw<Row[]>`
    SELECT id::text, extract(epoch FROM "at")::float8 AS "at", kind, actor NOT IN ('user', 'client') AS "isByOther",
      method, device, network
    FROM events
    WHERE ${isOfUser(userId, start)} AND "at" > ${start} AND kind = ANY (${kinds}::text[])
    ORDER BY events."at" DESC, id DESC LIMIT ${shownInAccount}`

  return rows.map((row) => ({ ...row, at: dateFromEpoch(row.at) }))
}
