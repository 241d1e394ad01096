/**
 * The errors that `/sso/callback?error=…` explains. The first four come from the provider
 * (RFC 6749 §4.1.2.1).
 */
export type SignInError =
  | 'access_denied'
  | 'login_required'
  | 'temporarily_unavailable'
  | 'server_error'
  | 'other'
  | 'attempt_invalid'
  | 'response_invalid'
  | 'no_access'
  | 'connection_unavailable'
  | 'unavailable'

/**
 * A rejected sign-in. `error` is for the browser, `check` for the log. Never log the
 * cause (it may have tokens).
 */
export class SignInRejected extends Error {
  override name = 'SignInRejected'
  // the name at the provider. Show it to the user, but never log it.
  account: string | undefined
  next: string | null = null // the destination, if this browser began the sign-in
  // the account, if the response of the provider was verified
  identity: { issuer: string; subject: string } | undefined
  isTest = false // the attempt was a test

  constructor(
    readonly check: string,
    readonly error: SignInError,
    cause?: unknown,
  ) {
    super(`The sign-in was rejected: ${check}`, { cause })
  }
}

const clientAuthentication =
  'Is the client secret right? If so, the client may be registered for another authentication: --token-auth post or basic.'

const asymmetricKey =
  'The provider signs ID tokens with HS256, or publishes no key: choose an RSA or EC key there.'

/**
 * The advice in the log for checks that depend on a flag of `npm run connections -- add`.
 */
export const advice: Partial<Record<string, string>> = {
  token_invalid_client: clientAuthentication,
  token_invalid_request: clientAuthentication,
  token_unauthorized_client: clientAuthentication,
  provider_invalid_scope:
    'The provider does not allow this client the scopes openid and email: allow them there.',
  provider_invalid_request:
    'Compare the redirect URI at the provider with that of the connection. If the provider needs another parameter: --authorization-parameter NAME=VALUE',
  id_token_alg: asymmetricKey,
  provider_keys_empty: asymmetricKey,
  id_token_encrypted:
    'The provider encrypts the ID token: switch its encryption off there.',
  user_info_signed:
    'The provider signs the user info, but announces no algorithm for it: announce it (userinfo_signing_alg_values_supported), or send JSON.',
  saml_transient:
    'Choose persistent at the provider, or let our requests name a format: --name-id-format persistent',
  email_elsewhere:
    'An email address came under another name: --email-claim NAME (OpenID Connect), --email-attribute NAME or NameID (SAML).',
  email_several:
    'Two different email addresses came: name one with --email-claim or --email-attribute.',
  tenant_domains:
    'Name the domains of each tenant: npm run connections -- update SLUG --tenant ID=DOMAIN [--tenant …]',
  email_claim_untrusted:
    'The claim of --email-claim links and creates users only with --trust-claim.',
}
