import type { SamlConnection } from '../connection'
import { decryptSecrets } from '../secrets'
import { ssoUrl } from '../urls'
import { readIdentity } from './assertion'
import { decryptAssertion, keyCiphers } from './encryption'
import { ensure, SamlRejected } from './rejection'
import { checkAssertionForm, checkResponse, decodeResponse } from './response'
import type { PublicSettings, ServiceProviderSettings } from './settings'
import { parseXml } from './xml'

/** Returns the settings for our metadata. Decrypts no secret. */
export function publicSettings({ slug, settings }: SamlConnection): PublicSettings {
  return { ...settings, entityId: ssoUrl(slug, 'metadata'), acsUrl: ssoUrl(slug, 'acs') }
}

/**
 * Returns all settings of a connection. Throws SignInRejected if its secrets can't be
 * decrypted.
 */
export async function withKeys(
  connection: SamlConnection,
): Promise<ServiceProviderSettings> {
  const { privateKey, nextPrivateKey } = await decryptSecrets(connection)
  return { ...publicSettings(connection), privateKey: privateKey!, nextPrivateKey }
}

/**
 * Returns the URL with an AuthnRequest (HTTP-Redirect). With `forceAuthn`, the provider
 * authenticates users again.
 */
export async function authnRequestUrl(
  settings: ServiceProviderSettings,
  {
    id,
    relayState,
    forceAuthn = false,
  }: { id: string; relayState: string; forceAuthn?: boolean },
): Promise<string> {
  const { SAML } = await import('@node-saml/node-saml')
  const saml = new SAML({
    issuer: settings.entityId,
    callbackUrl: settings.acsUrl,
    entryPoint: settings.ssoUrl,
    idpCert: settings.certificates,
    signatureAlgorithm: 'sha256', // the library's default is SHA-1
    digestAlgorithm: 'sha256',
    identifierFormat: null,
    disableRequestedAuthnContext: true, // ADFS and Entra fail otherwise
    ...(settings.signRequests && { privateKey: settings.privateKey }),
    ...(forceAuthn && { forceAuthn }),
    generateUniqueId: () => id,
  })

  return saml.getAuthorizeUrlAsync(relayState, undefined, {})
}

/**
 * Verifies a posted response (base64) to the request with this ID. Call `claimAttempt`
 * first. Throws SamlRejected.
 */
export async function verifyResponse(
  settings: ServiceProviderSettings,
  posted: string,
  claim: { requestId: string },
) {
  const { acsUrl, entityId, issuer, signed: wanted, emailAttribute } = settings
  const expected = { acsUrl, entityId, issuer, requestId: claim.requestId }
  const xml = decodeResponse(posted)
  const response = checkResponse(parseXml(xml), expected)
  const decrypted = response.isEncrypted ? await decryptAssertion(xml, settings) : null
  const assertion = decrypted === null ? response.assertion : parseXml(decrypted)
  const signed = {
    response: response.isSigned,
    assertion: checkAssertionForm(assertion, expected),
  }

  ensure(signed.response || signed.assertion, 'saml_unsigned')
  ensure(
    signed.response || wanted === 'either' || wanted === 'assertion',
    'saml_unsigned',
  )

  ensure(
    signed.assertion || wanted === 'either' || wanted === 'response',
    'saml_unsigned',
  )

  return readIdentity(
    parseXml(await readSigned(settings, xml, decrypted, signed)),
    expected,
    emailAttribute,
  )
}

// A provider can choose one of these formats. The first is the best for us, because it
// never changes for a person.
const nameIdFormats = [
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
]

/** Returns our metadata (XML). An operator enters it, or its URL, at the provider. */
export async function serviceMetadata(settings: PublicSettings): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml')
  const { entityId, acsUrl, certificate, nextCertificate, signed, signRequests } =
    settings

  // The library only checks that a key exists, so the real key is not decrypted.
  const privateKey = 'not in the metadata'
  const metadata = generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl: acsUrl,
    // the library writes an element for each
    identifierFormat: nameIdFormats as unknown as string,
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

type Signed = { response: boolean; assertion: boolean }

/**
 * Verifies the signatures. Returns the assertion that is signed, or that was part of a
 * signed response.
 */
async function readSigned(
  settings: ServiceProviderSettings,
  posted: string,
  decrypted: string | null,
  signed: Signed,
) {
  const { getVerifiedXml, parseDomFromString, xpath } = await import(
    '@node-saml/node-saml/lib/xml.js'
  )
  const elementAt = async (xml: string, path: string) =>
    xpath.selectElements(await parseDomFromString(xml), path)[0]!

  const verify = async (xml: string, path: string) => {
    const verified = getVerifiedXml(
      xml,
      await elementAt(xml, path),
      settings.certificates,
    )
    ensure(verified, 'saml_signature')
    return verified
  }

  const assertionPath = "/*/*[local-name()='Assertion']"
  try {
    const response = signed.response ? await verify(posted, '/*') : posted

    // decrypted again from the signed bytes
    const inside =
      decrypted !== null && signed.response
        ? await decryptAssertion(response, settings)
        : decrypted

    if (signed.assertion)
      return await (inside === null
        ? verify(posted, assertionPath)
        : verify(inside, '/*'))

    return inside ?? String(await elementAt(response, assertionPath))
  } catch (error) {
    if (error instanceof SamlRejected) throw error
    // Does not pass the error as the cause, because its message quotes the document.
    throw new SamlRejected(
      /^Invalid signature/.test((error as Error).message)
        ? 'saml_signature'
        : 'saml_library',
    )
  }
}
