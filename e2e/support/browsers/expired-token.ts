import { decodeJwt } from 'jose'
import { signSessionToken } from '../../../lib/session/jwt'
import { keepSecret } from '../secrets'

/** Returns a JWT of the same session that has expired. */
export function expireToken(token: string): string {
  const { sub, sid, iat, email } = decodeJwt<{ sid: string; email: string }>(token)
  const times = { authenticatedAt: iat! - 60, issuedAt: iat! - 60, expiresAt: iat! - 1 }
  const session = { userId: sub!, sessionId: sid, email, connection: null, amr: null }
  return keepSecret(signSessionToken({ ...session, ...times }))
}
