import { decodeJwt } from 'jose'
import { signJwt } from '../../../lib/crypto/token'
import { env } from '../../../lib/settings/env'
import type { JwtKeys } from '../../../lib/settings/signing-keys'
import { keepSecret } from '../secrets'

/** Returns a session JWT with the same claims that has expired. */
export function expireToken(token: string): string {
  return resign(token, env().SESSION_SIGNING_KEYS)
}

/** Returns an ID token with the same claims that has expired. */
export function expireIdToken(token: string): string {
  return resign(token, env().ID_TOKEN_SIGNING_KEYS!)
}

function resign(token: string, keys: JwtKeys): string {
  const claims = decodeJwt(token)
  const times = { iat: claims.iat! - 60, exp: claims.iat! - 1 }
  return keepSecret(signJwt('JWT', { ...claims, ...times }, keys))
}
