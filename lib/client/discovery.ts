import * as routes from '../contract/routes'

/** The path below the issuer (OpenID Connect Discovery §4). */
export const discoveryPath = routes.getProvider.path

/** The endpoints, by the name of their field. */
const endpoints = {
  authorization_endpoint: routes.authorize,
  token_endpoint: routes.issueTokens,
  userinfo_endpoint: routes.getUserInfo,
  revocation_endpoint: routes.revokeToken,
  end_session_endpoint: routes.signOutForClient,
  jwks_uri: routes.getIdTokenKeys,
}

const authenticationMethods = ['client_secret_basic', 'client_secret_post', 'none']

/** What the endpoints accept and return, with the names of Discovery §3 and RFC 8414 §2. */
const capabilities = {
  scopes_supported: ['openid', 'email', 'profile'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  token_endpoint_auth_methods_supported: authenticationMethods,
  revocation_endpoint_auth_methods_supported: authenticationMethods,
  code_challenge_methods_supported: ['S256'],
  prompt_values_supported: ['none', 'login', 'select_account', 'consent'],
  claims_supported: [
    'iss',
    'sub',
    'aud',
    'sid',
    'iat',
    'exp',
    'auth_time',
    'nonce',
    'amr',
    'act',
    'connection',
    'email',
    'email_verified',
    'preferred_username',
  ],
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  authorization_response_iss_parameter_supported: true,
  claims_parameter_supported: false,
  request_parameter_supported: false,
  request_uri_parameter_supported: false, // true if the field is missing
}

/**
 * Returns the document with which clients configure themselves. `issuer` is an origin,
 * without a slash at the end, because some clients compare it as text.
 */
export function describeProvider(issuer: string) {
  const urls = Object.entries(endpoints).map(([name, { path }]) => [name, issuer + path])

  return {
    issuer,
    ...(Object.fromEntries(urls) as Record<keyof typeof endpoints, string>),
    ...capabilities,
  }
}
