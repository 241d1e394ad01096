import { createHash, randomBytes } from 'node:crypto'

/** A new secret to hand out once: 32 bytes from the CSPRNG as base64url, 43 characters. Store its `hashSecret`, never itself. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored and looked up in a secret's place: its SHA-256, 32 bytes. Takes a string of any length and alphabet. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret, 'utf8').digest())
}
