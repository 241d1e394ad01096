import { readCookie } from './cookie'
import { findRefreshableSession, findSession, type LiveSession } from './find'

/**
 * Returns the live session that a browser's cookies belong to, or null. The JWT may have
 * expired.
 */
export async function findBrowserSession(headers: Headers): Promise<LiveSession | null> {
  const token = readCookie(headers, 'session')
  const session = token ? await findSession(token) : null

  return session ?? findRenewableSession(headers)
}

/**
 * Returns the live session that a browser's refresh cookie can renew, or null. The JWT
 * does not count: a copy of it would get the refresh token of a client.
 */
export async function findRenewableSession(
  headers: Headers,
): Promise<LiveSession | null> {
  const refreshToken = readCookie(headers, 'refresh')
  return refreshToken ? findRefreshableSession(refreshToken) : null
}
