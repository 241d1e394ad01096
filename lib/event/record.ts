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

/** The event of each row of `from`, such as `FROM revoked`, or one event without `from`. */
export type Recorded = { kind: EventKind; about: About; from?: Prisma.Sql }

type Value = Prisma.Sql | string | number | string[] | null

/** The columns of `events` that a statement can fill, and their types. */
const columns = {
  actor: ['actor', 'text'],
  operator: ['operator', 'text'],
  command: ['command', 'text'],
  userId: ['user_id', 'uuid'],
  sessionId: ['session_id', 'uuid'],
  method: ['method', 'text'],
  connectionId: ['connection_id', 'uuid'],
  clientId: ['client_id', 'uuid'],
  widgetId: ['widget_id', 'uuid'],
  slug: ['slug', 'text'],
  changed: ['changed', 'text[]'],
  count: ['count', 'int'],
} as const

type Name = keyof typeof columns
type Values = Partial<Record<Name, Value | undefined>>

const names = Object.keys(columns) as Name[]

/**
 * Returns the statement that writes an event for each row of `from`, or one without
 * `from`. Its text depends on the call, not on the values.
 */
export function insertEvents(
  kind: EventKind,
  about: About,
  from = Prisma.empty,
): Prisma.Sql {
  return insertAll([{ kind, about, from }])
}

/**
 * Returns one INSERT of all these events, with only the columns and parameters that they
 * need: each costs processor time at every sign-in.
 */
function insertAll(recorded: Recorded[]): Prisma.Sql {
  const { device, network, requestId, ...origin } = currentOrigin()
  const { actor, operator, command, connectionId = null, clientId = null } = origin
  const usual: Values = { actor, operator, command, connectionId, clientId }
  const used = names.filter(
    (name) =>
      usual[name] !== undefined ||
      recorded.some(({ about }) => (about as Values)[name] !== undefined),
  )

  const filled = used.map((name) => columns[name][0]).join(', ')
  const sql = new Composed(`
    INSERT INTO events (device, network, request_id, kind, ${filled})
    SELECT `)
  for (const value of [device, network, requestId])
    sql.addValue(value ?? null, 'text').addText(', ')

  sql.addText('recorded.* FROM (')
  for (const [index, each] of recorded.entries()) {
    if (index > 0) sql.addText(' UNION ALL ')
    addRow(sql, each, usual, used)
  }

  return sql.addText(') AS recorded').build()
}

function addRow(
  sql: Composed,
  { kind, about, from = Prisma.empty }: Recorded,
  usual: Values,
  used: Name[],
): void {
  sql.addText(`SELECT '${kind}'::text`)
  for (const name of used) {
    const value = (about as Values)[name] ?? usual[name]
    sql.addText(', ').addValue(value, columns[name][1])
  }
  sql.addText(' ').addSql(from)
}

/** Composes a statement in less time than nested templates, which copy it at each level. */
class Composed {
  readonly #strings: string[] = []
  readonly #values: unknown[] = []
  #text: string // after the last value

  constructor(text: string) {
    this.#text = text
  }

  addText(text: string): this {
    this.#text += text
    return this
  }

  /** Adds an expression as it is, a value as a parameter, and nothing as NULL. */
  addValue(value: Value | undefined, type: string): this {
    if (value instanceof Prisma.Sql) return this.addSql(value)
    if (value === undefined) return this.addText(`NULL::${type}`)

    this.#strings.push(this.#text)
    this.#values.push(value)
    this.#text = `::${type}`
    return this
  }

  addSql({ strings, values }: Prisma.Sql): this {
    this.#text += strings[0]
    for (const [index, value] of values.entries()) {
      this.#strings.push(this.#text)
      this.#values.push(value)
      this.#text = strings[index + 1]!
    }
    return this
  }

  build(): Prisma.Sql {
    return new Prisma.Sql([...this.#strings, this.#text], this.#values)
  }
}

/**
 * Returns a CTE, after a comma, that writes an event for each row of `from`, such as
 * `FROM revoked`. Empty with EVENTS_DAYS=0. PostgreSQL runs it with the statement, so that
 * a change and its event are stored together. `others` are events that the same INSERT
 * writes.
 *
 * @example
 * WITH changed AS (UPDATE … RETURNING id)${recordEvents('password_changed', { userId: Prisma.sql`id` },
 *   Prisma.sql`FROM changed`)} SELECT 1 FROM changed
 */
export function recordEvents(
  kind: EventKind,
  about: About,
  from = Prisma.empty,
  others: Recorded[] = [],
): Prisma.Sql {
  if (!recordsEvents()) return Prisma.empty

  const insert = insertAll([{ kind, about, from }, ...others])
  return Prisma.sql`, ${Prisma.raw(`${kind}_event`)} AS (${insert})`
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
 * `expiresAt` as before. Only an operator issues a link to sign in. With EVENTS_DAYS=0, returns the statement.
 */
export function recordIssued(
  kind: Extract<EventKind, 'sign_in_link_issued' | 'reset_link_issued'>,
  issue: Prisma.Sql,
  userId: string,
): Prisma.Sql {
  if (!recordsEvents()) return issue

  const isByOperator = kind === 'sign_in_link_issued'
  const actor = isByOperator && { actor: Prisma.sql`'operator'` }
  const recorded = recordEvents(kind, { userId, ...actor }, Prisma.sql`FROM issued`)
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
