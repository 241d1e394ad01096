import { type SignInError, SignInRejected } from '../rejection'

type Cause = Error & { code?: string; error?: string; cause?: unknown }

/** The part of the sign-in in which an error of openid-client occurred. */
type Step = 'discovery' | 'response' | 'user_info'

// by RFC 6749 §5.2; every other error code could be any text
const tokenErrors = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'invalid_scope']
const providerErrors: SignInError[] = ['access_denied', 'login_required', 'temporarily_unavailable', 'server_error']

/**
 * The messages of oauth4webapi that one code covers, and our word for each. The messages quote no
 * values.
 */
const invalidResponses: [RegExp, string][] = [
  [/signature verification failed/, 'id_token_signature'],
  [/"alg" header/, 'id_token_alg'],
  [/^JWT "(exp|iat|iss|sub|aud|nonce)"|^unexpected JWT "(exp|iat|iss|sub|aud|nbf)"/, 'id_token_'],
  [/^Invalid JWT|^JWT (Header|Payload)/, 'id_token_format'],
  [/"id_token" property/, 'id_token_missing'],
  [/"iss" \(issuer\)/, 'response_iss'],
  [/"state"/, 'response_state'],
  [/no authorization code/, 'response_code'],
]

/**
 * Translates an error of openid-client: into a check for the log, in words of our own, and an error
 * for the page. Returns a SignInRejected as it is.
 */
export function oidcRejection(thrown: unknown, step: Step = 'response'): SignInRejected {
  if (thrown instanceof SignInRejected) return thrown
  const { code, error: oauthError = '', cause } = thrown as Cause
  if (cause instanceof SignInRejected) return cause // thrown while openid-client fetched
  const reject = (check: string, error: SignInError) => new SignInRejected(check, error, thrown)
  const invalid = (check: string) =>
    reject(check, step === 'discovery' ? 'temporarily_unavailable' : 'response_invalid')

  if (isTimeout(thrown)) return reject('provider_timeout', 'temporarily_unavailable')
  switch (code) {
    case 'OAUTH_AUTHORIZATION_RESPONSE_ERROR': {
      const known = providerErrors.find((error) => error === oauthError)
      return reject(`provider_${known ?? 'error'}`, known ?? 'other')
    }
    case 'OAUTH_RESPONSE_BODY_ERROR':
      return reject(`token_${tokenErrors.includes(oauthError) ? oauthError : 'error'}`, 'server_error')
    case 'OAUTH_WWW_AUTHENTICATE_CHALLENGE':
      return reject(step === 'user_info' ? 'user_info_challenge' : 'token_invalid_client', 'server_error')
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
      return reject(`${step === 'response' ? 'token' : step}_response`, 'temporarily_unavailable')
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return invalid(step === 'discovery' ? 'discovery_issuer' : 'user_info_sub')
    case 'OAUTH_HTTP_REQUEST_FORBIDDEN':
    case 'OAUTH_REQUEST_PROTOCOL_FORBIDDEN':
      return invalid('provider_http')
    case 'OAUTH_MISSING_SERVER_METADATA':
    case 'OAUTH_INVALID_SERVER_METADATA':
      return invalid('discovery_metadata')
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return invalid(`id_token_${claimOf(cause)}`)
    case 'OAUTH_KEY_SELECTION_FAILED':
      return invalid('id_token_key')
    case 'OAUTH_UNSUPPORTED_OPERATION':
      return invalid(step === 'response' ? 'id_token_alg' : `${step}_unsupported`)
    case 'OAUTH_INVALID_RESPONSE':
      return invalid(step === 'response' ? checkOf(cause) : `${step}_response`)
  }
  return invalid(`${step}_invalid`)
}

function isTimeout(thrown: unknown): boolean {
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth++)
    if (cause.name === 'TimeoutError') return true
  return false
}

function claimOf(cause: unknown): string {
  const { claim } = ((cause as Cause | undefined)?.cause ?? {}) as { claim?: unknown }
  return typeof claim === 'string' && /^[a-z_]{1,20}$/.test(claim) ? claim : 'claims'
}

function checkOf(cause: unknown): string {
  const { message = '' } = (cause ?? {}) as Partial<Error>
  for (const [pattern, check] of invalidResponses) {
    const match = pattern.exec(message)
    if (match) return check.endsWith('_') ? check + (match[1] ?? match[2]) : check
  }
  return 'response_invalid'
}
