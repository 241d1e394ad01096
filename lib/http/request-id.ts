import { randomUUID } from 'node:crypto'

/**
 * Returns the ID of a request. Accepts the client's ID only if it is safe to log and too
 * short to be one of our secrets.
 */
export function readRequestId(headers: Headers): string {
  const given = headers.get('x-request-id')
  return given && /^[\w.-]{8,40}$/.test(given) ? given : randomUUID()
}
