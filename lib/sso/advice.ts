const clientAuthentication =
  'Is the client secret right? If so, the client may be registered for another authentication: --token-auth post or basic.'

/** What the log says to an operator about checks that a flag of `npm run connections -- add` can change. */
export const advice: Partial<Record<string, string>> = {
  token_invalid_client: clientAuthentication,
  token_invalid_request: clientAuthentication,
  token_unauthorized_client: clientAuthentication,
  email_elsewhere:
    'An email address came under another name: --email-claim NAME (OpenID Connect), --email-attribute NAME or NameID (SAML).',
  email_several: 'Two different email addresses came: name one with --email-claim or --email-attribute.',
  tenant_domains: 'Name the domains of each tenant: npm run connections -- update SLUG --tenant ID=DOMAIN [--tenant …]',
  email_claim_untrusted: 'The claim of --email-claim links and creates users only with --trust-claim.',
}
