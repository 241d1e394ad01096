import { hkdfSync } from 'node:crypto'

const keyBytes = 32

/**
 * Parses 256-bit keys in base64 or base64url, separated by commas. Only the first key
 * encrypts. All keys decrypt.
 */
export function parseEncryptionKeys(text: string): Uint8Array[] {
  return text.split(',').map((part) => {
    const key = new Uint8Array(Buffer.from(part.trim(), 'base64'))
    if (!/^[\w+/-]+={0,2}$/.test(part.trim()) || key.length !== keyBytes)
      throw new Error(
        `must be ${keyBytes} random bytes in base64, or several of these separated by commas`,
      )
    return key
  })
}

/** Derives the key that encrypts for one purpose (HKDF, RFC 5869). */
export function deriveKey(key: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', purpose, keyBytes))
}
