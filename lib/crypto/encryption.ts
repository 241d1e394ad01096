import { deriveKey } from '../settings/encryption-keys'
import { env } from '../settings/env'

type Purpose = 'connection-secrets' | 'second-factor'

/**
 * Encrypts a text as JWE with the first key of ENCRYPTION_KEY. `decryptText` needs the
 * same purpose and `bound`.
 */
export async function encryptText(
  text: string,
  purpose: Purpose,
  bound: Record<string, string>,
): Promise<string> {
  const { CompactEncrypt } = await import('jose')
  const jwe = new CompactEncrypt(new TextEncoder().encode(text))
  return jwe
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...bound })
    .encrypt(keysFor(purpose)[0]!)
}

/**
 * Decrypts the result of `encryptText`. Returns null if `bound` differs, no key matches,
 * or the text is invalid.
 */
export async function decryptText(
  encrypted: string,
  purpose: Purpose,
  bound: Record<string, string>,
): Promise<string | null> {
  for (const key of keysFor(purpose)) {
    const decrypted = await decryptWith(key, encrypted)
    if (!decrypted) continue

    const { protectedHeader, plaintext } = decrypted
    const isBound = ([name, value]: [string, string]) => protectedHeader[name] === value
    if (Object.entries(bound).every(isBound)) return new TextDecoder().decode(plaintext)
  }

  return null
}

async function decryptWith(key: Uint8Array, encrypted: string) {
  const { compactDecrypt } = await import('jose')
  const algorithms = {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
  }

  try {
    return await compactDecrypt(encrypted, key, algorithms)
  } catch {
    return null
  }
}

function keysFor(purpose: Purpose): Uint8Array[] {
  const { ENCRYPTION_KEY } = env()
  if (!ENCRYPTION_KEY)
    throw new Error('ENCRYPTION_KEY is not set. Create it with: openssl rand -base64 32')

  // Before 0.2.0, the secrets of connections were encrypted directly with the key.
  const earlier = purpose === 'connection-secrets' ? ENCRYPTION_KEY : []
  return [...ENCRYPTION_KEY.map((key) => deriveKey(key, purpose)), ...earlier]
}
