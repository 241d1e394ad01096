import type { SamlConnection } from '../connection'
import { ssoUrl } from '../urls'
import { keyCiphers } from './encryption'
import type { PublicSettings, SamlSettings } from './settings'

/** Returns the settings for our metadata. Decrypts no secret. */
export function readPublicSettings({
  slug,
  settings,
}: SamlConnection): SamlSettings & PublicSettings {
  return { ...settings, entityId: ssoUrl(slug, 'metadata'), acsUrl: ssoUrl(slug, 'acs') }
}

/** Returns what our metadata shows while the provider of a connection is not known. */
export function describeService({
  slug,
  certificate,
}: {
  slug: string
  certificate: string
}): PublicSettings {
  return {
    entityId: ssoUrl(slug, 'metadata'),
    acsUrl: ssoUrl(slug, 'acs'),
    certificate,
    signed: 'either',
    signRequests: false,
  }
}

/**
 * A provider can choose one of these formats. The first is the best for us, because it
 * never changes for a person.
 */
export const nameIdFormats = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  emailAddress: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
}

/** Returns our metadata (XML). An operator enters it, or its URL, at the provider. */
export async function createMetadata(settings: PublicSettings): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml')
  const { entityId, acsUrl, certificate, nextCertificate, signed, signRequests } =
    settings

  // The library only checks that a key exists, so the real key is not decrypted.
  const privateKey = 'not in the metadata'
  const metadata = generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl: acsUrl,
    // the library writes an element for each
    identifierFormat: Object.values(nameIdFormats) as unknown as string,
    decryptionPvk: privateKey,
    // one certificate, because many providers use only the first, and the old key will be
    // dropped
    decryptionCert: nextCertificate ?? certificate,
    ...(signRequests && {
      privateKey,
      publicCerts: [certificate, ...(nextCertificate ? [nextCertificate] : [])],
    }),
    wantAssertionsSigned: signed !== 'response',
    generateUniqueId: () => '_metadata', // fixed, so that the document is always the same
  })

  // Adds the ciphers for keys, because the library lists only the ciphers for the
  // content.
  const keyMethods = keyCiphers.map(
    (algorithm) => `<EncryptionMethod Algorithm="${algorithm}"/>`,
  )

  return metadata.replace('<EncryptionMethod ', `${keyMethods.join('')}$&`)
}
