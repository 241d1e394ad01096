import { decodeJwt } from 'jose'
import { signJwt } from '../../../lib/crypto/token'
import { env } from '../../../lib/settings/env'
import { keepSecret } from '../secrets'

/** Returns a JWT with the same claims that has expired. */
export function expireToken(token: string): string {
  const claims = decodeJwt(token)
  const times = { iat: claims.iat! - 60, exp: claims.iat! - 1 }
  return keepSecret(signJwt('JWT', { ...claims, ...times }, env().SESSION_SIGNING_KEYS))
}
