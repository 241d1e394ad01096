// What the holder of a setup link can do about a failed check. The holder knows neither our
// commands nor our flags. English only, like the page.
import { explainCheck } from '../check-meanings'
import { advice } from '../rejection'

const toContact = 'Your contact has to correct this: send them this check.'

const toIssuer =
  'The metadata of the provider can’t be used. Compare the issuer that you have saved with “issuer” in its metadata.'

const toSecret =
  'The provider rejected the client secret. Enter it again on the setup page. If it is right, let the provider authenticate the client with client_secret_basic.'

const toAddress =
  'Let the provider send the address as the claim email (OpenID Connect), or as the attribute email or mail (SAML).'

const remedies: Partial<Record<string, string>> = {
  discovery_issuer: toIssuer,
  discovery_metadata: toIssuer,
  discovery_response: toIssuer,
  discovery_invalid: toIssuer,
  provider_invalid_request:
    'The provider rejected our request. Its message, if any, is under Received below. Otherwise, compare the redirect URI there with ours.',
  token_invalid_client: toSecret,
  token_unauthorized_client: toSecret,
  token_invalid_request:
    'The provider rejected the code: compare the redirect URI there with ours.',
  saml_transient:
    'The NameID is transient: each sign-in has a new one. Let the provider send a persistent one. If it is set to do so, it may have no attribute to make one from.',
  saml_status:
    'The provider responded with an error. Its message, if any, is under Received below. Its log has more.',
  email_missing: `The provider sent no email address. ${toAddress}`,
  email_malformed: `The provider sent no email address that can be used. ${toAddress}`,
  email_elsewhere: `The provider sent an email address under another name. ${toAddress}`,
  email_several: 'The provider sent two different email addresses: let it send one.',
  email_domain:
    'The domain of the email address is none of yours on the setup page. Test with an account of these domains, or ask your contact to add this one.',
  email_claim_untrusted: toContact,
  email_tenant: toContact,
  tenant_domains: toContact,
  id_token_tid: toContact,
  secrets: toContact,
  identity_not_provisioned:
    'There is no user with this address yet, so this account can’t sign in yet. Your contact can add the user. If the user exists with another address, let the provider send that one.',
  identity_second_factor:
    'The user with this address has a second factor. So your contact links this account, or the first sign-in does after the connection is activated.',
  identity_other_subject:
    'The user with this address is linked to another account of your provider. Your contact can unlink it.',
  subject_unlinked: 'Your contact has unlinked this account, and can link it again.',
  user_disabled:
    'The user with this address is disabled. Your contact can enable the user.',
  internal: 'An unexpected error here. Try again. If it stays, tell your contact.',
}

/** Returns what a check means to the holder of a setup link, and what to do next. */
export function explainToHolder(check: string): string {
  const known = [explainCheck(check), advice[check]].filter(Boolean)
  return remedies[check] ?? (known.join(' ') || toContact)
}

/**
 * Whether a test with a setup link shows that the connection works, although this account
 * can't sign in: everything from the provider was verified, and only the user is missing,
 * or has a second factor until the connection is live. The holder can correct neither.
 */
export function showsWorking(check: string): boolean {
  return check === 'identity_not_provisioned' || check === 'identity_second_factor'
}
