import { createHash, randomBytes } from 'node:crypto'

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
