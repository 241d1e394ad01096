import { X509Certificate } from 'node:crypto'
import { env } from '../settings/env'
import type { Connection } from './connection'
import { SignInRejected } from './rejection'

/** What sealed secrets belong to. Opening fails if any of it has changed. */
export type Binding = { connection: string; issuer: string; clientId?: string; certificate?: string }

/** The secrets of a connection: with OpenID Connect our client secret, with SAML our private key. */
export type Secrets = Record<string, string>

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

/** Decrypts the secrets of a connection. Throws SignInRejected if no key fits, or if the binding has changed. */
export async function openSecrets(connection: Pick<Connection, 'id' | 'settings' | 'sealedSecrets'>): Promise<Secrets> {
  try {
    return await opened(connection.sealedSecrets ?? '', bindingOf(connection))
  } catch (error) {
    throw new SignInRejected('secrets', 'unavailable', error)
  }
}

async function opened(sealed: string, binding: Binding): Promise<Secrets> {
  const { compactDecrypt } = await import('jose')
  for (const key of secretsKeys()) {
    const decrypted = await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    }).catch(() => null)
    if (!decrypted) continue
    const { protectedHeader, plaintext } = decrypted
    const isBound = Object.entries(binding).every(([name, value]) => protectedHeader[name] === value)
    if (!isBound) throw new Error('The secrets were sealed for another connection, issuer, client or certificate.')
    return JSON.parse(new TextDecoder().decode(plaintext))
  }
  throw new Error('The secrets can’t be opened: none of the keys in CONNECTION_SECRETS_KEY sealed them.')
}

/** What the secrets of a connection are sealed for. */
export function bindingOf({ id, settings }: Pick<Connection, 'id' | 'settings'>): Binding {
  return {
    connection: id,
    issuer: settings.issuer,
    ...('clientId' in settings && { clientId: settings.clientId }),
    ...('certificate' in settings && { certificate: new X509Certificate(settings.certificate).fingerprint256 }),
  }
}

function secretsKeys(): Uint8Array[] {
  const { CONNECTION_SECRETS_KEY } = env()
  if (!CONNECTION_SECRETS_KEY)
    throw new Error('CONNECTION_SECRETS_KEY is not set. Create it with: openssl rand -base64 32')
  return CONNECTION_SECRETS_KEY
}
