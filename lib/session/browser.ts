import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { prisma } from '../database/prisma'
import { readCookie } from './cookie'
import { findRefreshableSession, findSession, type LiveSession } from './find'

const maxStateLength = 1_000

/**
 * Reads an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3). Returns the reason if
 * a redirect is forbidden.
 */
export function readAuthorizeRequest(search: string, callbackUrls: string[]) {
  const query = new URLSearchParams(search)
  const [redirectUri, ...others] = query.getAll('redirect_uri')
  if (!redirectUri || others.length > 0 || !callbackUrls.includes(redirectUri))
    return 'redirect_uri_unknown'

  const state = query.get('state')
  if (state && state.length > maxStateLength) return 'state_too_long'

  const [challenge = '', ...further] = query.getAll('code_challenge')
  const isValid =
    /^[\w-]{43}$/.test(challenge) &&
    further.length === 0 &&
    query.get('code_challenge_method') === 'S256'

  return {
    redirectUri,
    state,
    codeChallenge: isValid ? new Uint8Array(Buffer.from(challenge, 'base64url')) : null,
  }
}

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
 * does not count: a copy of it would get a dashboard's refresh token.
 */
export async function findRenewableSession(
  headers: Headers,
): Promise<LiveSession | null> {
  const refreshToken = readCookie(headers, 'refresh')
  return refreshToken ? findRefreshableSession(refreshToken) : null
}

/**
 * Issues a code for a dashboard's session. Returns null if `sessionId` has ended or is a
 * dashboard's session.
 */
export async function issueDashboardCode(
  sessionId: string,
  redirectUri: string,
  codeChallenge: Uint8Array,
) {
  const code = newSecret()
  const issued = await prisma().$executeRaw`
    INSERT INTO exchange_codes
      (code_hash, user_id, connection_id, renewable_until, code_challenge, parent_id, redirect_uri, amr, expires_at)
    SELECT ${hashSecret(code)}, user_id, connection_id, least(expires_at, renewable_until), ${codeChallenge}, id,
      ${redirectUri}, amr, now() + make_interval(secs => ${lifetimes.code})
    FROM sessions
    WHERE id = ${sessionId} AND parent_id IS NULL AND revoked_at IS NULL AND ${isUnexpired}
      AND (renewable_until IS NULL OR renewable_until > now())`

  return issued === 1 ? code : null
}
