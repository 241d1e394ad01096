import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopback } from '../../lib/settings/loopback'

/**
 * Whether the Host of a request is neither this machine nor the host of PUBLIC_URL. Any
 * website can resolve its own host name to this machine (DNS rebinding).
 */
export function hasForeignHost({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const hostname = readHostname(`http://${headers.host}`)
  if (hostname === null) return true
  return !isLoopback(hostname) && hostname !== readHostname(process.env.PUBLIC_URL)
}

/**
 * Responds with 403 to a request with a foreign Host. Returns whether it did. For servers
 * of development, which sign anybody in or show emails.
 */
export function rejectForeignHost(
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (!hasForeignHost(request)) return false
  response.writeHead(403, { 'Content-Type': 'text/plain; charset=utf-8' })
  response.end('In development, use localhost or the host of PUBLIC_URL.\n')
  return true
}

function readHostname(url = ''): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null
}
