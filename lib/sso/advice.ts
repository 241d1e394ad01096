/** What the log says to an operator about checks that a flag of `npm run connections -- add` can change. */
export const advice: Partial<Record<string, string>> = {
  token_invalid_client:
    'The client secret is wrong or has expired, or the client is registered for another authentication: --token-auth post or basic.',
  email_elsewhere:
    'An email address came under another name: --email-claim NAME (OpenID Connect), --email-attribute NAME or NameID (SAML).',
  email_several: 'Two different email addresses came: name one with --email-claim or --email-attribute.',
  email_claim_untrusted: 'The claim of --email-claim links and creates users only with --trust-claim.',
}
