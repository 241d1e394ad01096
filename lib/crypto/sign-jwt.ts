import { sign } from 'node:crypto'
import type { SigningKeys } from '../settings/signing-keys'

/**
 * Signs a JWT (RFC 7519) with ES256. jose would wait for bcrypt's threads, and use four
 * times the CPU time.
 */
export function signJwt(
  typ: string,
  claims: object,
  { kid, privateKey }: SigningKeys,
): string {
  const base64url = (part: object) =>
    Buffer.from(JSON.stringify(part)).toString('base64url')
  const signingInput = `${base64url({ alg: 'ES256', typ, kid })}.${base64url(claims)}`

  // the concatenation of R and S (RFC 7518 §3.4)
  const signature = sign('sha256', Buffer.from(signingInput), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  })

  return `${signingInput}.${signature.toString('base64url')}`
}
