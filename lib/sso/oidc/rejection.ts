import { type SignInError, SignInRejected } from '../rejection'

type Cause = Error & { code?: string; error?: string; cause?: unknown }

/**
 * Our checks for the errors of RFC 6749, and for claims. Other errors are not logged,
 * because they can be any text.
 */
const knownChecks = [
  'token_invalid_request',
  'token_invalid_client',
  'token_invalid_grant',
  'token_unauthorized_client',
  'token_invalid_scope',
  'provider_access_denied',
  'provider_login_required',
  'provider_temporarily_unavailable',
  'provider_server_error',
  'provider_invalid_request',
  'provider_invalid_scope',
  'id_token_iss',
  'id_token_sub',
  'id_token_aud',
  'id_token_azp',
  'id_token_exp',
  'id_token_iat',
  'id_token_nbf',
  'id_token_nonce',
]
const findKnownCheck = (prefix: string, name: unknown) =>
  knownChecks.find((check) => check === `${prefix}_${name}`)
const steps = {
  discovery: { unusable: 'discovery_response', other: 'discovery_invalid' },
  response: { unusable: 'token_response', other: 'response_invalid' },
  user_info: { unusable: 'user_info_response', other: 'user_info_invalid' },
}
type Step = keyof typeof steps

/** The errors of a provider that the page explains. */
const explained: Partial<Record<string, SignInError>> = {
  provider_access_denied: 'access_denied',
  provider_login_required: 'login_required',
  provider_temporarily_unavailable: 'temporarily_unavailable',
  provider_server_error: 'server_error',
}

/** Returns the rejection for a known `error` of an authorization response, or null. */
export function readProviderError(response: URLSearchParams): SignInRejected | null {
  const check = findKnownCheck('provider', response.get('error'))
  return check ? new SignInRejected(check, explained[check] ?? 'other') : null
}

/**
 * The messages of oauth4webapi with the code OAUTH_INVALID_RESPONSE, and our check for
 * each. They quote no values.
 */
const invalidResponses: [RegExp, string][] = [
  [/signature verification failed/, 'id_token_signature'],
  [/"alg" header/, 'id_token_alg'],
  [/^Invalid JWT|^JWT (Header|Payload)/, 'id_token_format'],
  [/"id_token" property/, 'id_token_missing'],
  [/"iss" \(issuer\)/, 'response_iss'],
  [/"state"/, 'response_state'],
  [/no authorization code/, 'response_code'],
]

/** Our checks for openid-client's codes of invalid responses. */
const invalidCodes: Record<string, (step: Step, cause: unknown) => string> = {
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: (step) =>
    step === 'discovery' ? 'discovery_issuer' : 'user_info_sub',
  OAUTH_HTTP_REQUEST_FORBIDDEN: () => 'provider_http',
  OAUTH_REQUEST_PROTOCOL_FORBIDDEN: () => 'provider_http',
  OAUTH_MISSING_SERVER_METADATA: () => 'discovery_metadata',
  OAUTH_INVALID_SERVER_METADATA: () => 'discovery_metadata',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: (_, cause) => findClaimCheck(cause),
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: (_, cause) => findClaimCheck(cause),
  OAUTH_KEY_SELECTION_FAILED: () => 'id_token_key',
  OAUTH_UNSUPPORTED_OPERATION: (step, cause) =>
    step === 'response' ? findUnsupportedCheck(cause) : steps[step].other,
  OAUTH_INVALID_RESPONSE: (step, cause) =>
    step === 'response' ? findResponseCheck(cause) : steps[step].unusable,
}

/**
 * Maps an error of openid-client in a step of the sign-in to the failed check and an
 * error for the page.
 */
export function oidcRejection(thrown: unknown, step: Step = 'response'): SignInRejected {
  if (thrown instanceof SignInRejected) return thrown

  const { code = '', error: oauthError = '', cause } = thrown as Cause
  if (cause instanceof SignInRejected) return cause // thrown by our own fetch function

  const reject = (check: string, error: SignInError) =>
    new SignInRejected(check, error, thrown)
  if (isTimeout(thrown)) return reject('provider_timeout', 'temporarily_unavailable')

  switch (code) {
    case 'OAUTH_AUTHORIZATION_RESPONSE_ERROR': {
      const check = findKnownCheck('provider', oauthError) ?? 'provider_error'
      return reject(check, explained[check] ?? 'other')
    }
    case 'OAUTH_RESPONSE_BODY_ERROR':
      return reject(findKnownCheck('token', oauthError) ?? 'token_error', 'server_error')
    case 'OAUTH_WWW_AUTHENTICATE_CHALLENGE':
      return reject(
        step === 'user_info' ? 'user_info_challenge' : 'token_invalid_client',
        'server_error',
      )
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
      return reject(steps[step].unusable, 'temporarily_unavailable')
  }

  if (step === 'user_info' && isUnannounced(cause))
    return reject('user_info_signed', 'response_invalid')

  const check = invalidCodes[code]?.(step, cause) ?? steps[step].other
  return reject(
    check,
    step === 'discovery' ? 'temporarily_unavailable' : 'response_invalid',
  )
}

function isTimeout(thrown: unknown): boolean {
  let cause = thrown

  for (let depth = 0; depth < 4 && cause instanceof Error; depth++) {
    if (cause.name === 'TimeoutError') return true
    cause = cause.cause
  }

  return false
}

function findClaimCheck(cause: unknown): string {
  const { claim } = ((cause as Cause | undefined)?.cause ?? {}) as { claim?: unknown }
  return findKnownCheck('id_token', claim) ?? 'id_token_claims'
}

/**
 * What is unsupported is the type of the access token, or that the ID token is encrypted,
 * or how it is signed.
 */
function findUnsupportedCheck(cause: unknown): string {
  const { message = '' } = (cause ?? {}) as Partial<Error>
  if (/^JWE /.test(message)) return 'id_token_encrypted'

  return /token_type/.test(message) ? steps.response.unusable : 'id_token_alg'
}

/** Whether a JWT is signed, and the metadata lists no algorithm for it. */
function isUnannounced(cause: unknown): boolean {
  const { message = '' } = (cause ?? {}) as Partial<Error>
  return /^missing client or server configuration to verify used JWT/.test(message)
}

function findResponseCheck(cause: unknown): string {
  const { message = '' } = (cause ?? {}) as Partial<Error>
  const [, claim] = /^(?:unexpected )?JWT "(\w+)"/.exec(message) ?? []
  const known = findKnownCheck('id_token', claim)
  if (known) return known

  const [, check = 'response_invalid'] =
    invalidResponses.find(([pattern]) => pattern.test(message)) ?? []
  return check
}
