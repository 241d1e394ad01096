import {
  type AccountEvent,
  type Actor,
  accountEventDays,
  accountEvents,
  type EventKind,
  type eventFields,
} from '../contract/events'
import { dateFromEpoch, type Prisma, prisma } from '../database/prisma'

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

type Row = Prisma.EventGetPayload<object>

/** Yields events, the oldest first. Reads them in pages. */
export async function* listEvents(filter: EventFilter): AsyncGenerator<ListedEvent> {
  const { since, ...equal } = filter
  let last: Row | undefined

  do {
    const from = last?.at ?? since
    const rows: Row[] = await prisma().event.findMany({
      where: {
        ...equal,
        ...(from && { at: { gte: from } }),
        ...(last && { OR: [{ at: { gt: last.at } }, { id: { gt: last.id } }] }),
      },
      orderBy: [{ at: 'asc' }, { id: 'asc' }],
      take: pageSize,
    })

    yield* await describeEvents(rows)
    last = rows.length === pageSize ? rows.at(-1) : undefined
  } while (last)
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
      at: row.at,
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
      changed: row.changed?.length > 0 ? row.changed : null, // NULL in most rows
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

  const rows = await prisma().$queryRaw<Row[]>`
    SELECT id::text, extract(epoch FROM "at")::float8 AS "at", kind, actor NOT IN ('user', 'client') AS "isByOther",
      method, device, network
    FROM events
    WHERE user_id = ${userId}::uuid AND "at" > now() - make_interval(days => ${accountEventDays}::int)
      AND kind = ANY (${kinds}::text[])
    ORDER BY "at" DESC, id DESC LIMIT ${shownInAccount}`

  return rows.map((row) => ({ ...row, at: dateFromEpoch(row.at) }))
}
