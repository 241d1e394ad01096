import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { keepSecret } from '../secrets'
import { listen } from '../servers/listen'

export type Claims = Record<string, unknown>
type Keys = Awaited<ReturnType<typeof generateKeyPair>>
type Reply = {
  status?: number
  headers?: Record<string, string>
  body: unknown
  delayMs?: number
}

/**
 * The behavior that a test can change. Without a change, the provider behaves correctly.
 */
export type Behavior = {
  metadata?: (genuine: Claims) => Claims
  /**
   * The authentication method for which the client is registered. The other one is
   * rejected, even if it is announced.
   */
  tokenAuth?: 'basic' | 'post'
  /** The error for a client that does not authenticate, by default `invalid_client`. */
  clientError?: string
  /** The length of a code. */
  codeLength?: number
  claims?: (genuine: Claims) => Claims
  /** Returns the ID token with these claims. */
  sign?: (claims: Claims, keys: Keys) => string | Promise<string>
  token?: (genuine: Claims) => Reply
  userInfo?: (genuine: Claims) => Claims
  /** Returns the user info as a JWT. */
  userInfoJwt?: (genuine: Claims, keys: Keys) => Promise<string>
  jwks?: (genuine: Claims) => Reply
  /** Changes the parameters of the redirect to the callback. */
  response?: (genuine: URLSearchParams) => void
}

/** An OpenID provider that signs everything that a test requests. */
export type Provider = {
  issuer: string
  keys: Keys
  behavior: Behavior
  /** The person who signs in. */
  person: Claims
  /** The paths of all requests. */
  requests: string[]
  stop: () => Promise<void>
}

export const clientSecret = 'the-secret_of+the%test:client' // with characters that must be encoded and others that need not be
export const kid = 'key-1'

export async function startProvider(behavior: Behavior = {}): Promise<Provider> {
  const keys = await generateKeyPair('RS256', { extractable: true })
  // the parameters of the authorization request, by code
  const pending = new Map<string, URLSearchParams>()
  const server = createServer((request, response) => {
    serve(request).then(
      ({ status = 200, headers = {}, body, delayMs = 0 }) => {
        setTimeout(() => {
          response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
          response.end(
            typeof body === 'string' || Buffer.isBuffer(body)
              ? body
              : JSON.stringify(body),
          )
        }, delayMs).unref()
      },
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  const { url: issuer, stop } = await listen(server)
  const provider: Provider = {
    issuer,
    keys,
    behavior,
    person: {
      sub: randomBytes(8).toString('hex'),
      email: `${randomBytes(6).toString('hex')}@example.org`,
    },
    requests: [],
    stop,
  }
  return provider

  async function serve(request: IncomingMessage): Promise<Reply> {
    const { person, behavior: does } = provider
    const url = new URL(request.url!, issuer)
    url.pathname = url.pathname.replace(/^\/[\w-]{36}\/v2\.0/, '') // for an issuer URL like those of Entra ID
    provider.requests.push(url.pathname)
    if (url.pathname === '/.well-known/openid-configuration') {
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      }
      return { body: does.metadata?.(metadata) ?? metadata }
    }
    if (url.pathname === '/jwks') {
      const set = {
        keys: [{ ...(await exportJWK(keys.publicKey)), kid, alg: 'RS256', use: 'sig' }],
      }
      return does.jwks?.(set) ?? { body: set }
    }
    if (url.pathname === '/authorize')
      return { status: 303, headers: { Location: authorize(url) }, body: '' }
    if (url.pathname === '/userinfo' && does.userInfoJwt)
      return {
        headers: { 'Content-Type': 'application/jwt' },
        body: await does.userInfoJwt(person, keys),
      }
    if (url.pathname === '/userinfo') return { body: does.userInfo?.(person) ?? person }
    if (url.pathname === '/token')
      return token(
        new URLSearchParams(await text(request)),
        request.headers.authorization,
      )
    return { status: 404, body: {} }
  }

  function authorize({ searchParams: given }: URL): string {
    const { codeLength = 43 } = provider.behavior
    const code = keepSecret(
      randomBytes(codeLength).toString('base64url').slice(0, codeLength),
    )
    if (
      given.get('code_challenge_method') !== 'S256' ||
      given.get('response_type') !== 'code'
    )
      throw new Error('PKCE with S256 and the code flow are required.')
    pending.set(code, given)
    const back = new URL(given.get('redirect_uri')!)
    const parameters = new URLSearchParams({
      code,
      state: given.get('state')!,
      iss: issuer,
    })
    provider.behavior.response?.(parameters)
    back.search = parameters.toString()
    return back.href
  }

  async function token(given: URLSearchParams, authorization = ''): Promise<Reply> {
    const code = pending.get(given.get('code') ?? '')
    pending.delete(given.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url')
    const [, password] = Buffer.from(authorization.replace('Basic ', ''), 'base64')
      .toString()
      .split(':')
    const inHeader = decodeURIComponent((password ?? '').replaceAll('+', ' '))
    if (
      (provider.behavior.tokenAuth === 'post' ? given.get('client_secret') : inHeader) !==
      clientSecret
    )
      return {
        status: 401,
        body: { error: provider.behavior.clientError ?? 'invalid_client' },
      }
    if (
      !code ||
      code.get('code_challenge') !== challenge ||
      code.get('redirect_uri') !== given.get('redirect_uri')
    )
      return {
        status: 400,
        body: { error: 'invalid_grant', error_description: 'a text of the provider' },
      }
    const now = Math.floor(Date.now() / 1000)
    const genuine = {
      iss: issuer,
      aud: code.get('client_id'),
      iat: now,
      exp: now + 300,
      nonce: code.get('nonce'),
      ...provider.person,
    }
    const { claims, sign = signed } = provider.behavior
    const idToken = await sign(claims?.(genuine) ?? genuine, keys)
    if (idToken.length > 100) keepSecret(idToken)
    const accessToken = keepSecret(randomBytes(32).toString('base64url'))
    const body = { access_token: accessToken, token_type: 'Bearer', id_token: idToken }
    return provider.behavior.token?.(body) ?? { body }
  }
}

/** Signs correctly, with RS256 and the key in the JWKS. */
export function signed(
  claims: Claims,
  { privateKey }: Keys,
  header: object = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid, ...header })
    .sign(privateKey)
}
