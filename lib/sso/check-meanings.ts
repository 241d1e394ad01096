/** What a failed check of a response means, for the report of a test. English only. */
const meanings: [checks: string, meaning: string][] = [
  [
    'state_missing state_unknown unsolicited',
    'The response did not refer to our request: the provider dropped or replaced state or RelayState, or the response came from a tile of its portal.',
  ],
  ['state_used', 'The response arrived a second time. Begin the test again.'],
  ['state_expired', 'The response arrived more than 20 minutes after the test began.'],
  ['state_browser', 'Another browser began this test, or the browser lost its cookies.'],
  [
    'state_connection',
    'The response is for another connection: check the redirect URI at the provider.',
  ],
  ['state_key', 'Our signing key was replaced during the test. Begin the test again.'],
  [
    'connection_changed',
    'The connection was moved to another issuer during the test. Begin the test again.',
  ],
  [
    'secrets',
    'Our secrets of this connection can’t be decrypted: no key of ENCRYPTION_KEY fits.',
  ],
  ['provider_timeout', 'The provider did not respond within 5 seconds.'],
  ['provider_unreachable', 'The provider could not be reached.'],
  [
    'provider_address',
    'The host of the provider has no public address, which a setup link demands.',
  ],
  ['provider_response_size', 'A response of the provider is too large.'],
  [
    'provider_response_encoding',
    'A response of the provider is compressed, although our request does not allow that.',
  ],
  ['provider_keys', 'The keys of the provider (jwks_uri) could not be fetched.'],
  [
    'provider_access_denied provider_login_required provider_temporarily_unavailable provider_server_error provider_error',
    'The provider responded with an error instead of an account.',
  ],
  ['provider_invalid_scope', 'The provider does not allow the scopes of our request.'],
  ['provider_invalid_request', 'The provider rejected our request.'],
  ['provider_http', 'The metadata of a provider with https has URLs with http.'],
  [
    'discovery_issuer discovery_metadata discovery_response discovery_invalid',
    'The metadata of the provider can’t be used: run npm run connections -- check.',
  ],
  [
    'token_invalid_client token_unauthorized_client',
    'The provider rejected our client secret, or expects it in another place.',
  ],
  [
    'token_invalid_grant token_invalid_request token_invalid_scope token_error',
    'The provider rejected the code: compare the redirect URI there with ours.',
  ],
  ['token_response', 'The token endpoint failed, or its response has the wrong format.'],
  [
    'response_code response_iss response_state response_invalid',
    'The response is incomplete, or from another issuer.',
  ],
  [
    'id_token_exp id_token_nbf id_token_iat',
    'The clocks of the provider and of this server differ by more than three minutes.',
  ],
  [
    'id_token_signature id_token_key id_token_alg provider_keys_empty',
    'The ID token is not signed with a published key of the provider.',
  ],
  ['id_token_encrypted', 'The ID token is encrypted.'],
  ['id_token_iss', 'The ID token is from another issuer.'],
  ['id_token_aud id_token_azp', 'The ID token is for another client.'],
  ['id_token_nonce', 'The ID token is for another sign-in.'],
  ['id_token_tid', 'The ID token is from a tenant that the connection does not list.'],
  ['id_token_sub id_token_claims', 'The ID token lacks a claim, or has an invalid one.'],
  [
    'id_token_missing id_token_format',
    'There is no ID token, or one that can’t be read.',
  ],
  ['user_info_signed', 'The user info is signed, but the metadata does not announce it.'],
  [
    'user_info_sub user_info_response user_info_challenge user_info_invalid',
    'The user info endpoint failed, or responded for another subject.',
  ],
  ['saml_unsigned', 'The part that must be signed has no signature.'],
  [
    'saml_signature',
    'No imported certificate fits the signature, or the response was changed: import the metadata of the provider again.',
  ],
  [
    'saml_algorithm',
    'The signature has another algorithm than RSA-SHA256 or RSA-SHA512, such as SHA-1.',
  ],
  [
    'saml_signature_form saml_signature_place saml_assertion_count saml_id saml_response saml_version',
    'The document can be interpreted in several ways, which SAML does not allow.',
  ],
  ['saml_issuer', 'The entity ID in the response is not that of the imported metadata.'],
  [
    'saml_audience saml_destination saml_recipient',
    'The response is for another service: compare the values below.',
  ],
  ['saml_in_response_to', 'The response is for another request, or for none.'],
  [
    'saml_time saml_not_before saml_not_on_or_after',
    'The clocks of the provider and of this server differ by more than three minutes, or the response arrived late.',
  ],
  ['saml_status', 'The provider responded with an error. Its log has the reason.'],
  [
    'saml_name_id saml_transient saml_subject',
    'There is no NameID that identifies a user: choose persistent at the provider.',
  ],
  ['saml_encrypted_id', 'The NameID is encrypted: switch its encryption off.'],
  ['saml_name_qualifier', 'The persistent NameID is from another provider.'],
  [
    'saml_confirmation',
    'There is no bearer confirmation, or none meets every condition.',
  ],
  [
    'saml_conditions saml_authn_statement',
    'A part of the assertion is missing, or is not supported.',
  ],
  ['saml_session_ended', 'The session of the user at the provider has ended.'],
  [
    'saml_encryption saml_decryption',
    'The assertion is encrypted in a way that we do not accept, or for another certificate: let the provider read our metadata again.',
  ],
  [
    'saml_markup saml_malformed saml_encoding saml_base64',
    'The response is not XML in UTF-8, or contains markup that is not allowed.',
  ],
  [
    'saml_too_large saml_too_complex',
    'The response exceeds a limit: let the provider send fewer attributes.',
  ],
  ['saml_library', 'The SAML library rejected a response that our own checks accept.'],
  [
    'email_missing email_malformed',
    'The provider sent no email address that can be used.',
  ],
  ['email_unverified', 'The provider marks the email address as unverified.'],
  ['email_elsewhere', 'The provider sent an email address under another name.'],
  ['email_several', 'The provider sent two different email addresses.'],
  [
    'email_claim_untrusted',
    'The connection has --email-claim without --trust-claim, so it links nobody.',
  ],
  [
    'email_domain email_hosted_domain',
    'The domain of the email address does not belong to the connection.',
  ],
  ['email_tenant', 'The domain of the email address is listed for another tenant.'],
  ['tenant_domains', 'A tenant of the connection has no list of domains.'],
  [
    'identity_not_provisioned',
    'No user has this email address: add the user, or use --provision.',
  ],
  [
    'identity_second_factor',
    'The user has a second factor and may use a password, so only an operator can link the account: npm run users -- link.',
  ],
  [
    'identity_other_subject',
    'The user is linked to another account of the provider: npm run users -- unlink.',
  ],
  [
    'subject_unlinked',
    'An operator unlinked this account. To link it again: npm run users -- link.',
  ],
  ['user_disabled', 'The user is disabled.'],
  ['internal', 'An unexpected error. The log has its cause, with the request ID.'],
]

const byCheck = new Map(
  meanings.flatMap(([checks, meaning]) =>
    checks.split(' ').map((check) => [check, meaning] as const),
  ),
)

/** Returns what a check means, or null for a check that no response can fail. */
export function explainCheck(check: string): string | null {
  return byCheck.get(check) ?? null
}
