import crypto, { type JsonWebKey } from 'node:crypto'
import * as z from 'zod'
import type { PublicJwk, PublicRsaJwk } from '../contract/schemas'
import { deriveKey } from './encryption-keys'

/** How keys sign: ES256 for sessions and widgets, RS256 for ID tokens (RFC 7518 §3.1). */
export type Algorithm = 'ES256' | 'RS256'

type PublicJwks = {
  ES256: z.infer<typeof PublicJwk>
  RS256: z.infer<typeof PublicRsaJwk>
}

/** The key that signs JWTs, its ID, and the public keys for the JWKS. */
export type JwtKeys<Signed extends Algorithm = Algorithm> = {
  algorithm: Signed
  kid: string
  privateKey: crypto.KeyObject
  published: PublicJwks[Signed][]
}

/** The keys of sessions or of widgets, and secrets derived from the keys. */
export type SigningKeys = ReturnType<typeof parseSigningKeys>

const optionalMembers = {
  d: z.string().optional(),
  role: z.literal('previous').optional(), // our own member: `rotateSigningKeys` does not use this key as the next one
}
const P256Jwk = z.looseObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  ...optionalMembers,
})
const RsaJwk = z.looseObject({
  kty: z.literal('RSA'),
  n: z.string(),
  e: z.string(),
  ...optionalMembers,
})
type Jwk = z.infer<typeof P256Jwk> | z.infer<typeof RsaJwk>

const rsaBits = 2_048

/** `publicMembers` are those of the thumbprint, in its order (RFC 7638 §3.2). */
const keyTypes = {
  ES256: {
    KeySet: z.object({ keys: z.array(P256Jwk).min(1) }),
    description: 'EC keys on the curve P-256: {"keys":[{"kty":"EC","crv":"P-256",…}]}',
    publicMembers: ['crv', 'kty', 'x', 'y'],
    members: 'x, y and d',
  },
  RS256: {
    KeySet: z.object({ keys: z.array(RsaJwk).min(1) }),
    description:
      'RSA keys, which `npm run keys -- new --id-token` prints: {"keys":[{"kty":"RSA",…}]}',
    publicMembers: ['e', 'kty', 'n'],
    members: 'n, e and d',
  },
} as const

/**
 * Parses a JWK Set (RFC 7517) of ES256 keys. The first key, a private key, signs. Thrown
 * errors contain no key, and their messages follow the name of the setting.
 */
export function parseSigningKeys(json: string) {
  const jwtKeys = parseJwtKeys(json, 'ES256')
  const privateKeys = parseKeySet(json, 'ES256')
    .map(({ d }, index) => ({ d, kid: jwtKeys.published[index]!.kid }))
    .filter(({ d }) => d)

  // Derives separate keys for each purpose (HKDF, RFC 5869). Only the first of them
  // signs, and all verify.
  const derived = (purpose: string) =>
    privateKeys.map(({ d }) => deriveKey(Buffer.from(d!, 'base64url'), purpose))
  const signInKeys = derived('sign-in-v1')

  return {
    ...jwtKeys,
    refreshKeys: derived('refresh-v1'),
    // for SSO attempts, which store the `kid`
    signInKeys: Object.fromEntries(
      privateKeys.map(({ kid }, index) => [kid, signInKeys[index]!]),
    ),
    knownBrowserKeys: derived('known-browser-v1'),
    repetitionKeys: derived('repetition-v1'),
    challengeKeys: derived('second-factor-v1'),
    passkeyKeys: derived('passkey-v1'),
    // For HMACs, so that the database and Redis do not show whose attempts and requests
    // are counted.
    attemptKey: derived('password-attempts-v1')[0]!,
    rateLimitKey: derived('rate-limit-v1')[0]!,
  }
}

/**
 * Parses a JWK Set of RS256 keys, which have at least 2,048 bits (RFC 7518 §3.3). The
 * first key, a private key, signs. Thrown errors contain no key.
 */
export function parseIdTokenKeys(json: string): JwtKeys<'RS256'> {
  return parseJwtKeys(json, 'RS256')
}

function parseJwtKeys<Signed extends Algorithm>(
  json: string,
  algorithm: Signed,
): JwtKeys<Signed> {
  const keys = parseKeySet(json, algorithm)
  const [first] = keys
  if (!first?.d) throw new Error('must begin with a private key, because it signs')

  const published = keys.map((jwk) => publicJwk(importKey(jwk, algorithm), algorithm))

  return {
    algorithm,
    kid: published[0]!.kid,
    privateKey: crypto.createPrivateKey({ key: first as JsonWebKey, format: 'jwk' }),
    published,
  }
}

/**
 * Returns published keys as PEM (RFC 7468), each below a line `kid: …`. Contains no
 * private key, because published keys have no private members.
 */
export function formatPem(published: JwtKeys['published']): string {
  return published
    .map((jwk) => {
      const publicKey = crypto.createPublicKey({ key: jwk, format: 'jwk' })
      return `kid: ${jwk.kid}\n${publicKey.export({ type: 'spki', format: 'pem' })}`
    })
    .join('')
}

/** Returns a new JWK Set of one private key, as JSON for a setting. */
export function newSigningKeys(algorithm: Algorithm = 'ES256'): string {
  return JSON.stringify({ keys: [newSigningKey(algorithm)] })
}

export type RotationStep = 'publish' | 'sign' | 'drop'

/**
 * Makes the next step of a rotation: adds a key that does not sign yet, makes it sign, or
 * removes the previous key.
 */
export function rotateSigningKeys(
  json: string,
  algorithm: Algorithm = 'ES256',
): { step: RotationStep; json: string } {
  parseJwtKeys(json, algorithm)
  const [current, ...others] = parseKeySet(json, algorithm)
  const next = others.find(isNext)
  const previous = others.filter((jwk) => jwk !== next)
  const result = (step: RotationStep, set: object[]) => ({
    step,
    json: JSON.stringify({ keys: set }),
  })

  if (next) return result('sign', [next, { ...current!, role: 'previous' }, ...previous])
  if (previous.length > 0) return result('drop', [current!])

  return result('publish', [current!, newSigningKey(algorithm)])
}

/** Whether a key that does not sign yet will be the next signing key. */
export function isNext({ d, role }: Pick<Jwk, 'd' | 'role'>): boolean {
  return d !== undefined && role !== 'previous'
}

function newSigningKey(algorithm: Algorithm): JsonWebKey {
  // Through DER, because exporting a newly generated KeyObject in Node 20 can deadlock
  // with the garbage collector.
  const privateKeyEncoding = { type: 'pkcs8', format: 'der' } as const
  const publicKeyEncoding = { type: 'spki', format: 'der' } as const

  const { privateKey: key } =
    algorithm === 'RS256'
      ? crypto.generateKeyPairSync('rsa', {
          modulusLength: rsaBits,
          privateKeyEncoding,
          publicKeyEncoding,
        })
      : crypto.generateKeyPairSync('ec', {
          namedCurve: 'P-256',
          privateKeyEncoding,
          publicKeyEncoding,
        })

  return crypto
    .createPrivateKey({ key, type: 'pkcs8', format: 'der' })
    .export({ format: 'jwk' })
}

function parseKeySet(json: string, algorithm: Algorithm): Jwk[] {
  const { KeySet, description } = keyTypes[algorithm]

  let set: unknown
  try {
    set = JSON.parse(json)
  } catch {
    throw new Error('is not JSON')
  }

  const parsed = KeySet.safeParse(set)
  if (!parsed.success) throw new Error(`is not a JWK Set of ${description}`)

  return parsed.data.keys
}

function importKey(jwk: Jwk, algorithm: Algorithm): crypto.KeyObject {
  const publicKey = importPublicKey(jwk)
  if (!publicKey || (jwk.d && !signsFor(jwk, publicKey)))
    throw new Error(
      `has a damaged key: ${keyTypes[algorithm].members} do not belong together`,
    )

  const bits = publicKey.asymmetricKeyDetails?.modulusLength
  if (bits && bits < rsaBits)
    throw new Error(`has a key of ${bits} bits, but RS256 needs ${rsaBits}`)

  return publicKey
}

/** Returns null for a damaged key, because OpenSSL's message would not help. */
function importPublicKey({ d, ...jwk }: Jwk): crypto.KeyObject | null {
  try {
    return crypto.createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
  } catch {
    return null
  }
}

/**
 * Checks a key pair by a signature, because OpenSSL does not check that the public
 * members match the private key.
 */
function signsFor(jwk: Jwk, publicKey: crypto.KeyObject): boolean {
  const text = Buffer.from('any text')
  try {
    const privateKey = crypto.createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' })
    const signature = crypto.sign('sha256', text, privateKey)
    return crypto.verify('sha256', text, publicKey, signature)
  } catch {
    return false
  }
}

function publicJwk<Signed extends Algorithm>(
  publicKey: crypto.KeyObject,
  alg: Signed,
): PublicJwks[Signed] {
  const jwk = publicKey.export({ format: 'jwk' })
  const members = Object.fromEntries(
    keyTypes[alg].publicMembers.map((name) => [name, jwk[name]]),
  )

  const thumbprint = crypto.createHash('sha256').update(JSON.stringify(members))
  const kid = thumbprint.digest('base64url')

  return { ...members, kid, alg, use: 'sig' } as PublicJwks[Signed]
}
