import { expect, type Sql } from '../fixtures'

export type StoredEvent = Record<string, unknown> & { kind: string }

/**
 * Returns the events of a user in the order of their times, those of one transaction in
 * the order of their kinds. Without their times and empty fields.
 */
export async function eventsOf(sql: Sql, userId: string): Promise<StoredEvent[]> {
  const rows = await sql(
    `SELECT jsonb_strip_nulls(to_jsonb(events) - '{at,id,user_id,request_id}'::text[]) AS event
     FROM events WHERE user_id = $1 ORDER BY "at", kind`,
    [userId],
  )
  return rows.map(({ event }) => event)
}

/** Waits for the event of a failed sign-in, which is written after the response. */
export async function failureOf(sql: Sql, requestId: string): Promise<StoredEvent> {
  const read = () =>
    sql(
      `SELECT jsonb_strip_nulls(to_jsonb(events) - '{at,id,request_id}'::text[]) AS event
       FROM events WHERE request_id = $1`,
      [requestId],
    )
  await expect.poll(async () => (await read()).length, { intervals: [10] }).toBe(1)
  return (await read())[0]!.event
}

/**
 * Returns the events about a connection in the order of their times, those of one
 * transaction in the order of their kinds. Without their times, requests and empty fields.
 */
export async function eventsOfConnection(
  sql: Sql,
  connectionId: string,
): Promise<StoredEvent[]> {
  const rows = await sql(
    `SELECT jsonb_strip_nulls(to_jsonb(events) - '{at,id,connection_id,request_id,network}'::text[]) AS event
     FROM events WHERE connection_id = $1 ORDER BY "at", kind`,
    [connectionId],
  )
  return rows.map(({ event }) => event)
}
