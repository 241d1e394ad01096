import { env } from '../settings/env'

/** What sealed secrets belong to. Opening fails if any of it has changed. */
export type Binding = { connection: string; issuer: string; clientId: string }

/** The secrets of a connection. */
export type Secrets = { clientSecret: string }

/**
 * Encrypts the secrets of a connection with the first key of CONNECTION_SECRETS_KEY (JWE, RFC 7516).
 * The protected header holds the binding, so that no other issuer can receive them.
 */
export async function sealSecrets(secrets: Secrets, binding: Binding): Promise<string> {
  const { CompactEncrypt } = await import('jose')
  const [key] = secretsKeys()
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(secrets)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...binding })
    .encrypt(key!)
}

/** Decrypts what `sealSecrets` returned. Throws if no key fits, or if the binding has changed. */
export async function openSecrets(sealed: string, binding: Binding): Promise<Secrets> {
  const { compactDecrypt } = await import('jose')
  for (const key of secretsKeys()) {
    const opened = await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    }).catch(() => null)
    if (!opened) continue
    const { protectedHeader, plaintext } = opened
    const isBound = Object.entries(binding).every(([name, value]) => protectedHeader[name] === value)
    if (!isBound) throw new Error('The secrets were sealed for another connection, issuer or client.')
    return JSON.parse(new TextDecoder().decode(plaintext))
  }
  throw new Error('The secrets can’t be opened: none of the keys in CONNECTION_SECRETS_KEY sealed them.')
}

function secretsKeys(): Uint8Array[] {
  const { CONNECTION_SECRETS_KEY } = env()
  if (!CONNECTION_SECRETS_KEY)
    throw new Error('CONNECTION_SECRETS_KEY is not set. Create it with: openssl rand -base64 32')
  return CONNECTION_SECRETS_KEY
}
