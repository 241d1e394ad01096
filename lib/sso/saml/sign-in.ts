import type { SamlConnection } from '../connection'
import type { ProviderSignIn } from '../provider'
import { decryptSecrets } from '../secrets'
import type { Trace } from '../trace'
import { readIdentity } from './assertion'
import { decryptAssertion } from './encryption'
import { nameIdFormats, readPublicSettings } from './metadata'
import { ensure, SamlRejected } from './rejection'
import { checkAssertionForm, checkResponse, decodeResponse } from './response'
import type { ServiceProviderSettings } from './settings'
import { parseXml } from './xml'

/**
 * Returns all settings of a connection. Throws SignInRejected if its secrets can't be
 * decrypted.
 */
export async function decryptKeys(
  connection: SamlConnection,
): Promise<ServiceProviderSettings> {
  const { privateKey, nextPrivateKey } = await decryptSecrets(connection)
  return { ...readPublicSettings(connection), privateKey: privateKey!, nextPrivateKey }
}

/**
 * Returns the URL with an AuthnRequest (HTTP-Redirect). With `forceAuthn`, the provider
 * authenticates users again.
 */
export async function createAuthnRequestUrl(
  settings: ServiceProviderSettings,
  {
    id,
    relayState,
    forceAuthn = false,
  }: { id: string; relayState: string; forceAuthn?: boolean },
): Promise<string> {
  const { SAML } = await import('@node-saml/node-saml')
  const { nameIdFormat } = settings
  const saml = new SAML({
    issuer: settings.entityId,
    callbackUrl: settings.acsUrl,
    entryPoint: settings.ssoUrl,
    idpCert: settings.certificates,
    signatureAlgorithm: 'sha256', // the library's default is SHA-1
    digestAlgorithm: 'sha256',
    identifierFormat: nameIdFormat ? nameIdFormats[nameIdFormat] : null,
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
  trace?: Trace,
) {
  const { acsUrl, entityId, issuer, signed: wanted, emailAttribute } = settings
  const expected = { acsUrl, entityId, issuer, requestId: claim.requestId }

  const xml = decodeResponse(posted)
  const root = parseXml(xml)
  trace?.({ part: 'response', element: root })
  const response = checkResponse(root, expected)

  const decrypted = response.isEncrypted ? await decryptAssertion(xml, settings) : null
  const assertion = decrypted === null ? response.assertion : parseXml(decrypted)
  trace?.({ part: 'assertion', element: assertion })
  const signed = {
    response: response.isSigned,
    assertion: checkAssertionForm(assertion, expected),
  }

  const mayLackResponse = wanted === 'either' || wanted === 'assertion'
  const mayLackAssertion = wanted === 'either' || wanted === 'response'
  ensure(signed.response || signed.assertion, 'saml_unsigned')
  ensure(signed.response || mayLackResponse, 'saml_unsigned')
  ensure(signed.assertion || mayLackAssertion, 'saml_unsigned')

  const verified = parseXml(await readSigned(settings, xml, decrypted, signed, trace))
  trace?.({ isVerified: true })

  return readIdentity(verified, expected, emailAttribute)
}

type Signed = { response: boolean; assertion: boolean }
type Library = typeof import('@node-saml/node-saml/lib/xml.js')

const assertionPath = "/*/*[local-name()='Assertion']"

/**
 * Verifies the signatures. Returns the assertion that is signed, or that was part of a
 * signed response.
 */
async function readSigned(
  settings: ServiceProviderSettings,
  posted: string,
  decrypted: string | null,
  signed: Signed,
  trace?: Trace,
): Promise<string> {
  const library = await import('@node-saml/node-saml/lib/xml.js')
  const { certificates } = settings
  const verify = async (part: keyof Signed, xml: string, path: string) => {
    const verified = await verifySignature(library, xml, path, certificates)
    await traceCertificate(trace, part, certificates, (certificate) =>
      verifySignature(library, xml, path, [certificate]),
    )
    return verified
  }

  try {
    const response = signed.response ? await verify('response', posted, '/*') : posted

    // decrypted again from the signed bytes
    const inside =
      decrypted !== null && signed.response
        ? await decryptAssertion(response, settings)
        : decrypted

    if (!signed.assertion)
      return inside ?? String(await selectElement(library, response, assertionPath))
    if (inside === null) return await verify('assertion', posted, assertionPath)
    return await verify('assertion', inside, '/*')
  } catch (error) {
    if (error instanceof SamlRejected) throw error

    // Does not pass the error as the cause, because its message quotes the document.
    const isInvalid = /^Invalid signature/.test((error as Error).message)
    throw new SamlRejected(isInvalid ? 'saml_signature' : 'saml_library')
  }
}

/** Traces which of the certificates verifies a signature. Does nothing in real sign-ins. */
async function traceCertificate(
  trace: Trace | undefined,
  signed: keyof Signed,
  certificates: string[],
  verifyWith: (certificate: string) => Promise<string>,
): Promise<void> {
  for (const certificate of trace ? certificates : [])
    await verifyWith(certificate).then(
      () => trace?.({ signed, certificate }),
      () => {},
    )
}

/** Returns the XML that the signature of an element covers. */
async function verifySignature(
  library: Library,
  xml: string,
  path: string,
  certificates: string[],
): Promise<string> {
  const element = await selectElement(library, xml, path)
  const verified = library.getVerifiedXml(xml, element, certificates)
  ensure(verified, 'saml_signature')
  return verified
}

async function selectElement(
  { parseDomFromString, xpath }: Library,
  xml: string,
  path: string,
) {
  return xpath.selectElements(await parseDomFromString(xml), path)[0]!
}

export const samlSignIn: ProviderSignIn<SamlConnection> = {
  response: 'form',
  authorize: async (connection, { requestId: id, state: relayState }, ask = null) =>
    createAuthnRequestUrl(await decryptKeys(connection), {
      id,
      relayState,
      forceAuthn: ask !== null,
    }),
  authenticate: async (connection, response, secrets, trace) =>
    verifyResponse(
      await decryptKeys(connection),
      response.get('SAMLResponse') ?? '',
      secrets,
      trace,
    ),
}
