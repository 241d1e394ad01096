/** What a client asks for, once its redirect URI is known to be registered. */
export type AuthorizationRequest = {
  state: string | null
  nonce: string | null
  challenge: Uint8Array<ArrayBuffer> | null
  /** `none`: the client wants an error instead of a page. Null: nothing special. */
  prompt: 'none' | 'login' | 'select_account' | null
  /** How long ago the user may have signed in, in seconds. */
  maxAge: number | null
  /** When the user must have signed in, in milliseconds since 1970, or later. */
  since: number | null
  /** An unverified ID token of the user who should be signed in. */
  hint: string | null
}

/** An error that the client gets by redirect (RFC 6749 §4.1.2.1). */
export type AuthorizationError = { error: string; description: string }

const maxNonceLength = 500
const single = [
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'prompt',
  'max_age',
  'id_token_hint',
  'login_hint',
  'since',
  'code_challenge',
  'code_challenge_method',
]
const prompts = ['none', 'login', 'select_account', 'consent']
const unsupported = ['request', 'request_uri', 'registration']

/**
 * Reads an authorization request (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3) of a client
 * whose ID and redirect URI are valid. A public client must use PKCE, and a confidential
 * one PKCE or a nonce (RFC 9700 §2.1.1). Returns the error otherwise.
 */
export function readAuthorizationRequest(
  query: URLSearchParams,
  isPublic: boolean,
): AuthorizationRequest | AuthorizationError {
  const repeated = single.find((name) => query.getAll(name).length > 1)
  if (repeated) return reject('invalid_request', `${repeated} is repeated`)

  const request = unsupported.find((name) => query.has(name))
  if (request) return reject(`${request}_not_supported`, `${request} is not supported`)

  if (query.get('response_type') !== 'code')
    return reject('unsupported_response_type', 'send response_type=code')
  if (!['query', null].includes(query.get('response_mode')))
    return reject('invalid_request', 'the only response_mode is query')
  if (!split(query.get('scope')).includes('openid'))
    return reject('invalid_scope', 'the scope must contain openid')

  const asked = split(query.get('prompt'))
  if (asked.some((prompt) => !prompts.includes(prompt)))
    return reject('invalid_request', `prompt is one of ${prompts.join(', ')}`)
  if (asked.includes('none') && asked.length > 1)
    return reject('invalid_request', 'prompt=none excludes other prompts')

  const [maxAge, since] = [readDigits(query, 'max_age'), readDigits(query, 'since')]
  if (maxAge === 'invalid') return reject('invalid_request', 'max_age is in seconds')
  if (since === 'invalid') return reject('invalid_request', 'since is in milliseconds')

  const nonce = query.get('nonce') || null
  if (nonce && (nonce.length > maxNonceLength || nonce.includes('\0')))
    return reject(
      'invalid_request',
      `nonce has more than ${maxNonceLength} characters, or a NUL character`,
    )

  const challenge = readChallenge(query)
  if (challenge === 'invalid')
    return reject(
      'invalid_request',
      'send code_challenge with 43 characters, and code_challenge_method=S256',
    )
  if (!challenge && (isPublic || !nonce))
    return reject(
      'invalid_request',
      isPublic
        ? 'send code_challenge with the method S256'
        : 'send code_challenge with the method S256, or nonce',
    )

  return {
    state: query.get('state'),
    nonce,
    challenge,
    prompt: choosePrompt(asked),
    maxAge,
    since,
    hint: query.get('id_token_hint') || null,
  }
}

/** Consent needs no page: an operator gave it by registering the client. */
function choosePrompt(asked: string[]): AuthorizationRequest['prompt'] {
  const order = ['none', 'login', 'select_account'] as const
  return order.find((prompt) => asked.includes(prompt)) ?? null
}

/** Returns a number of at most 15 digits, or null if the parameter is missing or empty. */
function readDigits(query: URLSearchParams, name: string): number | 'invalid' | null {
  const text = query.get(name)
  if (!text) return null

  return /^\d{1,15}$/.test(text) ? Number(text) : 'invalid'
}

function readChallenge(
  query: URLSearchParams,
): Uint8Array<ArrayBuffer> | 'invalid' | null {
  const [challenge, method] = [
    query.get('code_challenge'),
    query.get('code_challenge_method'),
  ]
  if (challenge === null && method === null) return null
  if (!/^[\w-]{43}$/.test(challenge ?? '') || method !== 'S256') return 'invalid'

  return new Uint8Array(Buffer.from(challenge!, 'base64url'))
}

function split(list: string | null): string[] {
  return (list ?? '').split(' ').filter(Boolean)
}

function reject(error: string, description: string): AuthorizationError {
  return { error, description }
}
