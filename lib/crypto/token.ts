// The tokens that this service hands out: secrets, of which it stores a hash; signed IDs,
// which it recognizes without storing them; and JWTs, which others can verify too.
import { createHash, createHmac, randomBytes, sign, timingSafeEqual } from 'node:crypto'
import type { JwtKeys } from '../settings/signing-keys'

/**
 * Returns a new secret: 32 bytes from the CSPRNG as base64url (43 characters). Store only
 * its `hashSecret`.
 */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Returns the SHA-256 of a secret, for storing. A secret with 256 bits of entropy needs
 * no slow hash.
 */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret, 'utf8').digest())
}

/**
 * Returns a new secret that commands show once and later list by its last four
 * characters: the prefix and 43 characters. Store only its hash and its hint.
 */
export function newIssuedSecret(prefix: string): {
  secret: string
  hash: Uint8Array<ArrayBuffer>
  hint: string
} {
  const secret = prefix + newSecret()
  const hint = secret.slice(-4)
  if (hint.startsWith('-')) return newIssuedSecret(prefix) // `revoke` would parse it as a flag

  return { secret, hash: hashSecret(secret), hint }
}

/**
 * Signs a JWT (RFC 7519) with the algorithm of the keys, ES256 or RS256. jose would wait
 * for bcrypt's threads, and use four times the CPU time.
 */
export function signJwt(
  typ: string,
  claims: object,
  { algorithm, kid, privateKey }: JwtKeys,
): string {
  const base64url = (part: object) =>
    Buffer.from(JSON.stringify(part)).toString('base64url')
  const signingInput = `${base64url({ alg: algorithm, typ, kid })}.${base64url(claims)}`

  // ES256 is the concatenation of R and S (RFC 7518 §3.4). RSA ignores the encoding.
  const signature = sign('sha256', Buffer.from(signingInput), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  })

  return `${signingInput}.${signature.toString('base64url')}`
}

// 16 bytes of ID, 4 bytes of number, 16 bytes of MAC
const idBytes = 16
const signedBytes = idBytes + 4
const macBytes = 16

/**
 * Signs an ID (32 hex digits) and a 32-bit number for `context` with the first key: 48
 * characters of base64url.
 */
export function signId(
  [key]: Uint8Array[],
  id: string,
  number: number,
  context = '',
): string {
  const signed = Buffer.alloc(signedBytes)
  signed.write(id, 'hex')
  signed.writeUInt32BE(number, idBytes)
  return Buffer.concat([signed, mac(key!, signed, context)]).toString('base64url')
}

/**
 * Returns the signed ID and number, or null if none of the keys has signed the text for
 * this context.
 */
export function readSignedId(
  keys: Uint8Array[],
  text: string,
  context = '',
): { id: string; number: number } | null {
  if (!/^[\w-]{48}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  if (!keys.some((key) => timingSafeEqual(mac(key, signed, context), given))) return null
  return { id: signed.toString('hex', 0, idBytes), number: signed.readUInt32BE(idBytes) }
}

/** Returns 32 hex digits as a UUID. */
export function readUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function mac(key: Uint8Array, signed: Uint8Array, context: string): Buffer {
  return createHmac('sha256', key)
    .update(signed)
    .update(context)
    .digest()
    .subarray(0, macBytes)
}
