import { X509Certificate } from 'node:crypto'
import { deriveKey } from '../settings/encryption-keys'
import { env } from '../settings/env'
import type { Connection } from './connection'
import { SignInRejected } from './rejection'

/** The secrets of a connection: with OpenID Connect our client secret, with SAML our private keys. */
export type Secrets = Record<string, string>

const purpose = 'connection-secrets'

/** Encrypts secrets with the first key of ENCRYPTION_KEY (JWE). The header binds them to one issuer and client. */
export async function sealSecrets(secrets: Secrets, binding: Record<string, string>): Promise<string> {
  const { CompactEncrypt } = await import('jose')
  const [key] = encryptionKeys()
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(secrets)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...binding })
    .encrypt(deriveKey(key!, purpose))
}

/** Decrypts the secrets of a connection. Throws SignInRejected if no key fits, or if the binding has changed. */
export async function openSecrets(connection: Pick<Connection, 'id' | 'settings' | 'sealedSecrets'>): Promise<Secrets> {
  const { compactDecrypt } = await import('jose')
  const algorithms = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }
  try {
    // before 0.2.0, secrets were encrypted with the key itself
    for (const key of encryptionKeys().flatMap((each) => [deriveKey(each, purpose), each])) {
      const decrypted = await compactDecrypt(connection.sealedSecrets ?? '', key, algorithms).catch(() => null)
      if (!decrypted) continue
      const { protectedHeader, plaintext } = decrypted
      const isBound = Object.entries(bindingOf(connection)).every(([name, value]) => protectedHeader[name] === value)
      if (!isBound) throw new Error('The secrets were sealed for another connection, issuer, client or certificate.')
      return JSON.parse(new TextDecoder().decode(plaintext))
    }
    throw new Error('The secrets can’t be opened: none of the keys in ENCRYPTION_KEY sealed them.')
  } catch (error) {
    throw new SignInRejected('secrets', 'unavailable', error)
  }
}

/** The values that the secrets of a connection are bound to. Decryption fails if any of them has changed. */
export function bindingOf({ id, settings }: Pick<Connection, 'id' | 'settings'>): Record<string, string> {
  const { issuer } = settings
  if (settings.kind === 'oidc') return { connection: id, issuer, clientId: settings.clientId }
  const [certificate, next] = [settings.certificate, settings.nextCertificate].map(
    (pem) => pem && new X509Certificate(pem).fingerprint256,
  )
  return { connection: id, issuer, certificate: certificate!, ...(next && { nextCertificate: next }) }
}

function encryptionKeys(): Uint8Array[] {
  const { ENCRYPTION_KEY } = env()
  if (!ENCRYPTION_KEY) throw new Error('ENCRYPTION_KEY is not set. Create it with: openssl rand -base64 32')
  return ENCRYPTION_KEY
}
