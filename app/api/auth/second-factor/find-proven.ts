import { type LiveSession, requireSession } from '@/lib/session/find'
import { requirePasskeySession } from '@/lib/session/fresh'

/**
 * Returns the session of a request: with a password in the body, that of the JWT. Without
 * one, that of a browser in which the user has just signed in with a passkey.
 */
export function findProven(
  headers: Headers,
  { password }: { password?: string | undefined },
): Promise<LiveSession> {
  return password === undefined ? requirePasskeySession(headers) : requireSession(headers)
}
