import type { SamlConfig } from '@node-saml/node-saml'
import { clockSkewMs, readIdentity, type SamlIdentity } from './assertion'
import { decryptAssertion } from './encryption'
import { ensure, type SamlCheck, SamlRejected } from './rejected'
import { checkAssertionForm, checkResponse, decodeResponse } from './response'
import { parseXml } from './xml'

/** A SAML connection: we are the service provider. Keys and certificates are PEM. */
export type ServiceProviderSettings = {
  /** Our entity ID, which is also the URL of our metadata. */
  entityId: string
  acsUrl: string
  /** Signs our requests and decrypts assertions. */
  privateKey: string
  certificate: string
  provider: {
    entityId: string
    /** Its single sign-on endpoint with the binding HTTP-Redirect. */
    ssoUrl: string
    /** A signature by any of them is accepted, so that the provider can change its key. */
    certificates: string[]
  }
  signRequests: boolean
  /**
   * What has to be signed. One of them is required in any case, and every signature that is there
   * must be valid.
   */
  wantResponseSigned: boolean
  wantAssertionSigned: boolean
  /** The attribute that holds the e-mail address, if it is none of the usual ones. */
  emailAttribute?: string
}

/**
 * Returns the URL that sends a browser to the provider with an AuthnRequest (HTTP-Redirect). The ID
 * must begin with a letter or an underscore, because it is an XML name.
 */
export async function authnRequestUrl(
  settings: ServiceProviderSettings,
  { id, relayState }: { id: string; relayState: string },
): Promise<string> {
  if (!/^[A-Za-z_][\w.-]*$/.test(id)) throw new Error('the ID of an AuthnRequest must be an XML name')
  const { SAML } = await import('@node-saml/node-saml')
  const saml = new SAML({
    ...options(settings, id),
    ...(settings.signRequests && { privateKey: settings.privateKey }),
    generateUniqueId: () => id,
  })
  return saml.getAuthorizeUrlAsync(relayState, undefined, {})
}

/**
 * Verifies a posted response (base64) to the request with this ID. Returns who signed in. Throws
 * SamlRejected. Claim the sign-in attempt first: this function does not remember responses.
 */
export async function verifyResponse(
  settings: ServiceProviderSettings,
  samlResponse: string,
  { requestId }: { requestId: string },
): Promise<SamlIdentity> {
  const { acsUrl, entityId, provider } = settings
  const expected = { acsUrl, entityId, issuer: provider.entityId, requestId }
  const xml = decodeResponse(samlResponse)
  const response = checkResponse(parseXml(xml), expected)
  const decrypted = response.isEncrypted ? await decryptAssertion(xml, settings.privateKey) : null
  const assertion = decrypted === null ? response.assertion : parseXml(decrypted)
  const signed = { response: response.isSigned, assertion: checkAssertionForm(assertion, expected) }
  ensure(signed.response || signed.assertion, 'saml_unsigned')
  ensure(signed.response || !settings.wantResponseSigned, 'saml_unsigned')
  ensure(signed.assertion || !settings.wantAssertionSigned, 'saml_unsigned')
  return readIdentity(
    parseXml(await verifiedAssertion(settings, samlResponse, requestId, signed)),
    expected,
    settings.emailAttribute,
  )
}

/** Returns our metadata (XML), which an operator enters at the provider or lets it fetch. */
export async function serviceMetadata(settings: Omit<ServiceProviderSettings, 'privateKey'>): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml')
  const { entityId, acsUrl, certificate, signRequests, wantResponseSigned, wantAssertionSigned } = settings
  // The library looks only at whether there is one. The real one stays sealed.
  const privateKey = 'not in the metadata'
  return generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl: acsUrl,
    identifierFormat: null,
    decryptionPvk: privateKey,
    decryptionCert: certificate,
    ...(signRequests && { privateKey, publicCerts: certificate }),
    wantAssertionsSigned: wantAssertionSigned || !wantResponseSigned,
    generateUniqueId: () => '_metadata', // the same document each time
  })
}

/** Returns the assertion in the canonical form whose signature the library has verified. */
async function verifiedAssertion(
  settings: ServiceProviderSettings,
  samlResponse: string,
  requestId: string,
  signed: { response: boolean; assertion: boolean },
): Promise<string> {
  const { SAML } = await import('@node-saml/node-saml')
  const saml = new SAML({
    ...options(settings, requestId),
    decryptionPvk: settings.privateKey,
    wantAuthnResponseSigned: signed.response,
    wantAssertionsSigned: signed.assertion,
  })
  const posted = { SAMLResponse: samlResponse }
  const { profile } = await saml.validatePostResponseAsync(posted).catch(rethrowAsRejected)
  ensure(profile?.getAssertionXml, 'saml_library')
  return profile.getAssertionXml()
}

function rethrowAsRejected(error: Error): never {
  if (error instanceof SamlRejected) throw error
  // Without the error as a cause, because its message quotes the document.
  throw new SamlRejected(libraryChecks.find(([message]) => message.test(error.message))?.[1] ?? 'saml_library')
}

/** How the library's messages begin. */
const libraryChecks: [RegExp, SamlCheck][] = [
  [/^Invalid (?:document )?signature/, 'saml_signature'],
  [/^(?:SAML assertion (?:expired|not yet valid)|No valid subject confirmation|Error parsing Not)/, 'saml_time'],
]

function options(settings: ServiceProviderSettings, requestId: string): SamlConfig {
  return {
    issuer: settings.entityId,
    audience: false, // checked by readIdentity, which ignores white space
    callbackUrl: settings.acsUrl,
    entryPoint: settings.provider.ssoUrl,
    idpCert: settings.provider.certificates,
    signatureAlgorithm: 'sha256', // the library's default is SHA-1
    digestAlgorithm: 'sha256',
    identifierFormat: null,
    disableRequestedAuthnContext: true, // ADFS and Entra fail otherwise
    acceptedClockSkewMs: clockSkewMs,
    validateInResponseTo: 'always' as SamlConfig['validateInResponseTo'],
    requestIdExpirationPeriodMs: 600_000,
    cacheProvider: onlyRequest(requestId),
  }
}

/**
 * What the library takes for its cache of requests: the one request of the claimed attempt, whose
 * age the database has checked.
 */
function onlyRequest(requestId: string): SamlConfig['cacheProvider'] {
  return {
    getAsync: async (id) => (id === requestId ? new Date().toISOString() : null),
    saveAsync: async () => null,
    removeAsync: async () => null,
  }
}
