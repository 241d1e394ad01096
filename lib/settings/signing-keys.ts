import crypto, { type JsonWebKey } from 'node:crypto'
import { z } from 'zod'
import type { PublicJwk as PublicJwkSchema } from '../contract/schemas'
import { deriveKey } from './encryption-keys'

type PublicJwk = z.infer<typeof PublicJwkSchema>

/**
 * The key that signs, its ID, the public keys for the JWKS, and secrets derived from the
 * keys.
 */
export type SigningKeys = ReturnType<typeof parseSigningKeys>

const P256Jwk = z.looseObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  d: z.string().optional(),
  role: z.literal('previous').optional(), // our own member: `rotateSigningKeys` does not use this key as the next one
})
type P256Jwk = z.infer<typeof P256Jwk>

const KeySet = z.object({ keys: z.array(P256Jwk).min(1) })

/**
 * Parses a JWK Set (RFC 7517) of ES256 keys. The first key, a private key, signs. Thrown
 * errors contain no key, and their messages follow the name of the setting.
 */
export function parseSigningKeys(json: string) {
  const { keys } = parseKeySet(json)
  const [first] = keys
  if (!first?.d) throw new Error('must begin with a private key, because it signs')

  const published = keys.map((jwk) => publicJwk(importKey(jwk)))
  const privateKeys = keys
    .map(({ d }, index) => ({ d, kid: published[index]!.kid }))
    .filter(({ d }) => d)

  // Derives separate keys for each purpose (HKDF, RFC 5869). Only the first of them
  // signs, and all verify.
  const derived = (purpose: string) =>
    privateKeys.map(({ d }) => deriveKey(Buffer.from(d!, 'base64url'), purpose))
  const signInKeys = derived('sign-in-v1')

  return {
    kid: published[0]!.kid,
    privateKey: crypto.createPrivateKey({ key: first as JsonWebKey, format: 'jwk' }),
    published,
    refreshKeys: derived('refresh-v1'),
    // for SSO attempts, which store the `kid`
    signInKeys: Object.fromEntries(
      privateKeys.map(({ kid }, index) => [kid, signInKeys[index]!]),
    ),
    knownBrowserKeys: derived('known-browser-v1'),
    challengeKeys: derived('second-factor-v1'),
    // For HMACs, so that the database and Redis do not show whose attempts and requests
    // are counted.
    attemptKey: derived('password-attempts-v1')[0]!,
    rateLimitKey: derived('rate-limit-v1')[0]!,
  }
}

/** Returns a new JWK Set of one private ES256 key, as JSON for `parseSigningKeys`. */
export function newSigningKeys(): string {
  return JSON.stringify({ keys: [newSigningKey()] })
}

export type RotationStep = 'publish' | 'sign' | 'drop'

/**
 * Makes the next step of a rotation: adds a key that does not sign yet, makes it sign, or
 * removes the previous key.
 */
export function rotateSigningKeys(json: string): { step: RotationStep; json: string } {
  parseSigningKeys(json)
  const { keys } = parseKeySet(json)
  const [current, ...others] = keys
  const next = others.find(isNext)
  const previous = others.filter((jwk) => jwk !== next)
  const result = (step: RotationStep, set: object[]) => ({
    step,
    json: JSON.stringify({ keys: set }),
  })

  if (next) return result('sign', [next, { ...current!, role: 'previous' }, ...previous])
  if (previous.length > 0) return result('drop', [current!])

  return result('publish', [current!, newSigningKey()])
}

/** Whether a key that does not sign yet will be the next signing key. */
export function isNext({ d, role }: Pick<P256Jwk, 'd' | 'role'>): boolean {
  return d !== undefined && role !== 'previous'
}

function newSigningKey(): JsonWebKey {
  // Through DER, because exporting a newly generated KeyObject in Node 20 can deadlock
  // with the garbage collector.
  const { privateKey } = crypto.generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })

  return crypto
    .createPrivateKey({ key: privateKey, type: 'pkcs8', format: 'der' })
    .export({ format: 'jwk' })
}

function parseKeySet(json: string) {
  let set: unknown
  try {
    set = JSON.parse(json)
  } catch {
    throw new Error('is not JSON')
  }

  const parsed = KeySet.safeParse(set)
  if (!parsed.success)
    throw new Error(
      'is not a JWK Set of EC keys on the curve P-256: {"keys":[{"kty":"EC","crv":"P-256",…}]}',
    )

  return parsed.data
}

function importKey(jwk: P256Jwk): crypto.KeyObject {
  try {
    const publicKey = crypto.createPublicKey({
      key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y },
      format: 'jwk',
    })

    if (
      !jwk.d ||
      signsFor(
        crypto.createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' }),
        publicKey,
      )
    )
      return publicKey
  } catch {
    // continues below, because OpenSSL's message would not help
  }

  throw new Error('has a damaged key: its x, y and d do not belong together')
}

/**
 * Checks a key pair by a signature, because OpenSSL does not check that x and y match the
 * private key.
 */
function signsFor(privateKey: crypto.KeyObject, publicKey: crypto.KeyObject): boolean {
  const text = Buffer.from('any text')
  return crypto.verify('sha256', text, publicKey, crypto.sign('sha256', text, privateKey))
}

function publicJwk(publicKey: crypto.KeyObject): PublicJwk {
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }

  // RFC 7638: exactly these members, in this order
  const thumbprint = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y })
  const kid = crypto.createHash('sha256').update(thumbprint).digest('base64url')
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' }
}
