import type { SamlConnection } from '../connection'
import type { Ask } from '../next-sign-in'
import type { Authenticated, ResponseFields } from '../provider'
import { SignInRejected } from '../rejection'
import { openSecrets } from '../sealed-secrets'
import type { AttemptSecrets } from '../sso-attempt'
import { ssoUrl } from '../urls'
import { authnRequestUrl, type PublicSettings, serviceMetadata, verifyResponse } from './service-provider'

/** Returns the URL of the identity provider at which the sign-in goes on. Throws SignInRejected. */
export async function authorize(
  connection: SamlConnection,
  { requestId, state }: Pick<AttemptSecrets, 'requestId' | 'state'>,
  ask: Ask | null = null,
): Promise<string> {
  const { privateKey } = await openSecrets(connection)
  return authnRequestUrl(
    { ...publicSettings(connection), privateKey: privateKey! },
    { id: requestId, relayState: state, forceAuthn: ask !== null },
  )
}

/** Verifies a posted response to the request of a claimed attempt. Throws SignInRejected. */
export async function authenticate(
  connection: SamlConnection,
  response: ResponseFields,
  { requestId }: Pick<AttemptSecrets, 'requestId'>,
): Promise<Authenticated> {
  const { privateKey, nextPrivateKey } = await openSecrets(connection)
  const settings = { ...publicSettings(connection), privateKey: privateKey!, nextPrivateKey }
  const posted = response.get('SAMLResponse') ?? ''
  const verified = await verifyResponse(settings, posted, { requestId })
  const { issuer, subject, isEmail, email, emailProblem, sessionNotOnOrAfter } = verified
  // SAML has no word for “unverified”: the provider vouches for the addresses of its domains.
  const contact = async () => {
    if (!email) throw new SignInRejected(emailProblem!, 'no_access')
    return { email, isVerified: true }
  }
  const identity = { issuer, subject, ...(isEmail && { isEmail }) }
  return { identity, contact, account: email ?? subject, sessionEnd: sessionNotOnOrAfter }
}

/** Returns the metadata (XML) that the provider reads. Opens no secret. */
export async function samlMetadata(connection: SamlConnection): Promise<string> {
  return serviceMetadata(publicSettings(connection))
}

function publicSettings({ slug, settings }: SamlConnection): PublicSettings {
  return { ...settings, entityId: ssoUrl(slug, 'metadata'), acsUrl: ssoUrl(slug, 'acs') }
}
