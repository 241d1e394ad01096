import { X509Certificate } from 'node:crypto'
import { decryptText, encryptText } from '../crypto/encryption'
import type { Connection } from './connection'
import { SignInRejected } from './rejection'

/**
 * The secrets of a connection: our client secret for OpenID Connect, or our private keys
 * for SAML.
 */
export type Secrets = Record<string, string>

/**
 * Encrypts secrets with the first key of ENCRYPTION_KEY, and binds them to values from
 * `createBinding`.
 */
export function encryptSecrets(
  secrets: Secrets,
  binding: Record<string, string>,
): Promise<string> {
  return encryptText(JSON.stringify(secrets), 'connection-secrets', binding)
}

/**
 * Decrypts the secrets of a connection. Throws SignInRejected if no key matches, or if
 * the binding has changed.
 */
export async function decryptSecrets(
  connection: Pick<Connection, 'id' | 'settings' | 'encryptedSecrets'>,
): Promise<Secrets> {
  try {
    const secrets = await decryptText(
      connection.encryptedSecrets ?? '',
      'connection-secrets',
      createBinding(connection),
    )

    if (secrets === null)
      throw new Error(
        'The secrets can’t be decrypted: no key in ENCRYPTION_KEY encrypted them for this issuer and client.',
      )

    return JSON.parse(secrets)
  } catch (error) {
    throw new SignInRejected('secrets', 'unavailable', error)
  }
}

/**
 * The values that the secrets of a connection are bound to. Decryption fails if any of
 * them has changed.
 */
export function createBinding({
  id,
  settings,
}: Pick<Connection, 'id' | 'settings'>): Record<string, string> {
  const { issuer } = settings
  if (settings.kind === 'oidc')
    return { connection: id, issuer, clientId: settings.clientId }

  const { certificate, nextCertificate } = settings
  return {
    connection: id,
    issuer,
    certificate: readFingerprint(certificate),
    ...(nextCertificate && { nextCertificate: readFingerprint(nextCertificate) }),
  }
}

/** Returns the SHA-256 fingerprint of a certificate (PEM). */
export function readFingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256
}
