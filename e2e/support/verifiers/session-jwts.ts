import { createHmac, createPublicKey, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { signJwt } from '../../../lib/crypto/token'
import {
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
  type SigningKeys,
} from '../../../lib/settings/signing-keys'
import { listen } from '../servers/listen'

/** What issues session JWTs in a test: keys, and a server that publishes them. */
export type Issuer = {
  url: string
  /** The value of SESSION_SIGNING_KEYS. */
  json: string
  keys: SigningKeys
  /** The JWK Set, which tests change. */
  published: { keys: object[] }
  /** How often the JWK Set was read. */
  reads: () => number
  stop: () => Promise<void>
}

/** Starts a server that publishes new keys, with the header of this service by default. */
export async function startIssuer(
  cacheControl = 'public, max-age=300',
  json = newSigningKeys(),
): Promise<Issuer> {
  const keys = parseSigningKeys(json)
  const published = { keys: [...keys.published] as object[] }
  let reads = 0

  const server = createServer(({ url }, response) => {
    if (url !== '/.well-known/jwks.json') return response.writeHead(404).end()

    reads++
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': cacheControl }
    response.writeHead(200, headers).end(JSON.stringify(published))
  })
  const { url, stop } = await listen(server)

  return { url, json, keys, published, reads: () => reads, stop }
}

/** Signs a session JWT of Ada with other claims. A claim that is undefined is missing. */
export function signSession(
  { url, keys }: Issuer,
  claims: object = {},
  signingKeys: Parameters<typeof signJwt>[2] = keys,
): string {
  return signJwt('JWT', { ...newClaims(url), ...claims }, signingKeys)
}

function newClaims(iss: string): object {
  const iat = nowSeconds()
  return {
    iss,
    aud: 'dashboard',
    sub: 'ada',
    sid: randomUUID(),
    jti: randomUUID(),
    iat,
    exp: iat + 3_600,
    auth_time: iat,
    email: 'ada@example.com',
  }
}

export const nowSeconds = () => Math.floor(Date.now() / 1000)

/** Texts that are no session JWT of an issuer, by what is wrong. */
export function invalidTokens(issuer: Issuer): Record<string, string> {
  const { url, keys } = issuer
  const others = parseSigningKeys(newSigningKeys())
  const idTokenKeys = parseIdTokenKeys(newSigningKeys('RS256'))
  const [header, , signature] = signSession(issuer).split('.')
  const secondsAgo = (seconds: number) => nowSeconds() - seconds

  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const unsigned = (alg: string) =>
    `${encode({ alg, typ: 'JWT', kid: keys.kid })}.${encode(newClaims(url))}`
  const signWithSecret = (secret: string) => {
    const signed = unsigned('HS256')
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const jwk = keys.published[0]!
  const pem = createPublicKey({ key: jwk, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString()

  return {
    'another issuer': signSession(issuer, { iss: 'https://login.example.net' }),
    'no issuer': signSession(issuer, { iss: undefined }),
    'another audience': signSession(issuer, { aud: 'widget' }),
    'no audience': signSession(issuer, { aud: undefined }),
    expired: signSession(issuer, { iat: secondsAgo(3_660), exp: secondsAgo(60) }),
    'no exp': signSession(issuer, { exp: undefined }),
    'alg none': `${unsigned('none')}.`,
    'alg none with a signature': `${unsigned('none')}.${signature}`,
    'HS256 with the public key': signWithSecret(pem),
    'HS256 with the public JWK': signWithSecret(JSON.stringify(jwk)),
    'an ID token': signSession(issuer, { aud: 'app' }, idTokenKeys),
    'the audience of sessions in an ID token': signSession(issuer, {}, idTokenKeys),
    'an unknown kid': signSession(issuer, {}, others),
    'another key with our kid': signSession(issuer, {}, { ...others, kid: keys.kid }),
    'a path as kid': signSession(issuer, {}, { ...keys, kid: `../keys/${keys.kid}` }),
    'changed claims': `${header}.${encode({ ...newClaims(url), sub: 'eve' })}.${signature}`,
    'no JWT': 'x',
  }
}
