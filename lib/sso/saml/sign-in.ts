import { acsUrl, entityId, type SamlConnection } from '../connection'
import type { Contact, Subject } from '../identity'
import { SignInRejected } from '../rejection'
import { bindingOf, openSecrets } from '../sealed-secrets'
import type { AttemptSecrets } from '../sign-in-attempt'
import { SamlRejected } from './rejected'
import { authnRequestUrl, type SamlSettings, serviceMetadata, verifyResponse } from './service-provider'

/** Returns the URL of the identity provider at which the sign-in goes on. Throws SignInRejected. */
export async function samlRequestUrl(
  connection: SamlConnection,
  { requestId, state }: Pick<AttemptSecrets, 'requestId' | 'state'>,
): Promise<string> {
  const privateKey = await privateKeyOf(connection)
  return authnRequestUrl({ ...publicSettings(connection), privateKey }, { id: requestId, relayState: state })
}

/** An identity that the provider has signed, its e-mail address, and when its session there ends. */
type Authenticated = { identity: Subject; contact: () => Promise<Contact>; sessionEnd: Date | undefined }

/**
 * Verifies a posted response (base64) to the request of a claimed attempt. Throws SignInRejected.
 */
export async function authenticateSaml(
  connection: SamlConnection,
  samlResponse: string,
  { requestId }: Pick<AttemptSecrets, 'requestId'>,
): Promise<Authenticated> {
  const privateKey = await privateKeyOf(connection)
  try {
    const settings = { ...publicSettings(connection), privateKey }
    const { issuer, subject, email, sessionNotOnOrAfter } = await verifyResponse(settings, samlResponse, { requestId })
    // SAML has no word for “unverified”: the provider vouches for the addresses of its domains.
    return {
      identity: { issuer, subject },
      contact: async () => ({ email: email ?? null, isVerified: true }),
      sessionEnd: sessionNotOnOrAfter,
    }
  } catch (error) {
    if (!(error instanceof SamlRejected)) throw error
    // The provider itself ended the sign-in, in an envelope whose signature does not matter.
    const isTheirs = error.check === 'status'
    throw new SignInRejected(`saml_${error.check.replaceAll('-', '_')}`, isTheirs ? 'other' : 'response_invalid')
  }
}

/** Returns the metadata (XML) that the provider reads. Opens no secret. */
export async function samlMetadata(connection: SamlConnection): Promise<string> {
  return serviceMetadata(publicSettings(connection))
}

function publicSettings({ slug, settings }: SamlConnection): Omit<SamlSettings, 'privateKey'> {
  const { issuer, ssoUrl, certificates, signed, signRequests, certificate, emailAttribute } = settings
  return {
    entityId: entityId(slug),
    acsUrl: acsUrl(slug),
    certificate,
    provider: { entityId: issuer, ssoUrl, certificates },
    signRequests,
    wantResponseSigned: signed === 'response' || signed === 'both',
    wantAssertionSigned: signed === 'assertion' || signed === 'both',
    ...(emailAttribute && { emailAttribute }),
  }
}

async function privateKeyOf(connection: SamlConnection): Promise<string> {
  try {
    const binding = bindingOf(connection)
    const { privateKey } = await openSecrets<{ privateKey: string }>(connection.sealedSecrets ?? '', binding)
    return privateKey
  } catch (error) {
    throw new SignInRejected('secrets', 'unavailable', error)
  }
}
