import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { expect, test } from 'vitest'
import {
  formatPem,
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
  rotateSigningKeys,
} from './signing-keys'

const jwk = (type: 'ec' | 'rsa' | 'ed25519', options = {}) =>
  createPrivateKey({
    key: generateKeyPairSync(type as 'ec', {
      ...(options as { namedCurve: string }),
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    }).privateKey,
    type: 'pkcs8',
    format: 'der',
  }).export({ format: 'jwk' }) as Record<string, string>
const p256 = () => jwk('ec', { namedCurve: 'P-256' })
const rsa = (modulusLength = 2_048) => jwk('rsa', { modulusLength })
const set = (...keys: unknown[]) => JSON.stringify({ keys })

test('a new key set signs with its key, and publishes the public key under its RFC 7638 thumbprint', async () => {
  const { kid, published } = parseSigningKeys(newSigningKeys())
  expect(published).toHaveLength(1)
  expect(published[0]).not.toHaveProperty('d')
  expect(kid).toBe(published[0]!.kid)
  expect(kid).toBe(await calculateJwkThumbprint(published[0]!))
})

test('the first key signs, and the public parts of all keys are published', () => {
  const [current, next] = [p256(), p256()]
  const { d, ...previous } = p256()
  const { kid, published } = parseSigningKeys(set(current, next, previous))
  expect(published.map(({ x }) => x)).toEqual([current.x, next.x, previous.x])
  expect(kid).toBe(published[0]!.kid)
  expect(JSON.stringify(published)).not.toContain('"d"')
})

test('the three steps of a rotation publish the next key, sign with it, and drop the previous key', () => {
  const kids = (json: string) => parseSigningKeys(json).published.map(({ kid }) => kid)
  const start = newSigningKeys()
  const [first] = kids(start)

  const published = rotateSigningKeys(start)
  const [, second] = kids(published.json)
  expect([published.step, kids(published.json)]).toEqual(['publish', [first, second]])
  expect(second).not.toBe(first)

  const signing = rotateSigningKeys(published.json)
  expect([signing.step, kids(signing.json)]).toEqual(['sign', [second, first]])
  const refreshKeys = (json: string) =>
    parseSigningKeys(json).refreshKeys.map((key) => Buffer.from(key).toString('hex'))
  const [ofFirst] = refreshKeys(start)
  expect(refreshKeys(signing.json)).toHaveLength(2)
  expect(
    refreshKeys(signing.json)[1],
    'the previous key renews the sessions that it started',
  ).toBe(ofFirst)

  const dropped = rotateSigningKeys(signing.json)
  expect([dropped.step, kids(dropped.json)]).toEqual(['drop', [second]])
  expect(refreshKeys(dropped.json)).toEqual([refreshKeys(signing.json)[0]])
  expect(rotateSigningKeys(dropped.json).step).toBe('publish')
})

test('the public keys are printed as PEM, each below its kid, without a private key', () => {
  for (const algorithm of ['ES256', 'RS256'] as const) {
    const { json } = rotateSigningKeys(newSigningKeys(algorithm), algorithm)
    const { published } =
      algorithm === 'RS256' ? parseIdTokenKeys(json) : parseSigningKeys(json)
    const pem = formatPem(published)
    expect(pem).not.toContain('PRIVATE')

    const printed = [
      ...pem.matchAll(
        /^kid: (.*)\n(-----BEGIN PUBLIC KEY-----\n[^-]+-----END PUBLIC KEY-----\n)/gm,
      ),
    ]
    expect(printed.map(([all]) => all).join('')).toBe(pem)
    expect(
      printed.map(([, kid, key]) => ({
        kid,
        ...createPublicKey(key!).export({ format: 'jwk' }),
      })),
    ).toEqual(published.map(({ alg, use, ...members }) => members))
  }
})

test('a key without a private part can’t verify refresh tokens', () => {
  const { d, ...previous } = p256()
  expect(parseSigningKeys(set(p256(), previous)).refreshKeys).toHaveLength(1)
})

test('a new set for ID tokens signs with an RSA key of 2,048 bits, and publishes its public members', async () => {
  const { algorithm, kid, privateKey, published } = parseIdTokenKeys(
    newSigningKeys('RS256'),
  )
  expect([algorithm, privateKey.asymmetricKeyDetails!.modulusLength]).toEqual([
    'RS256',
    2_048,
  ])
  const members = ['alg', 'e', 'kid', 'kty', 'n', 'use']
  expect(published.map((key) => Object.keys(key).sort())).toEqual([members])
  expect(published[0]).toMatchObject({ kty: 'RSA', alg: 'RS256', use: 'sig', kid })
  expect(kid).toBe(await calculateJwkThumbprint(published[0]!))
})

test('the keys of ID tokens rotate in the same three steps, with RSA keys', () => {
  const kids = (json: string) => parseIdTokenKeys(json).published.map(({ kid }) => kid)
  const start = newSigningKeys('RS256')
  const published = rotateSigningKeys(start, 'RS256')
  const [first, second] = kids(published.json)
  expect([published.step, first]).toEqual(['publish', kids(start)[0]])

  const signing = rotateSigningKeys(published.json, 'RS256')
  expect([signing.step, kids(signing.json)]).toEqual(['sign', [second, first]])

  const dropped = rotateSigningKeys(signing.json, 'RS256')
  expect([dropped.step, kids(dropped.json)]).toEqual(['drop', [second]])
})

test('if an earlier version began a rotation, the next step drops the previous key', () => {
  const [current, { d, ...previous }] = [p256(), p256()]
  expect(rotateSigningKeys(set(current, previous)).step).toBe('drop')
})

const wrong: Record<string, string> = {
  'a text that is not JSON': 'secret',
  'a key without a set': JSON.stringify(p256()),
  'an empty key set': set(),
  'a set whose first key is public': set({ ...p256(), d: undefined }),
  'another curve': set(jwk('ec', { namedCurve: 'P-384' })),
  'a curve too weak for ES256': set({ ...p256(), crv: 'P-192' }),
  'an RSA key': set(jwk('rsa', { modulusLength: 1024 })),
  'an Ed25519 key': set(jwk('ed25519')),
  'a symmetric key': set({ kty: 'oct', k: 'c2VjcmV0' }),
  'a private part of another key': set({ ...p256(), d: p256().d }),
  'a point that is not on the curve': set({ ...p256(), x: 'AAAA' }),
  'an empty private part': set({ ...p256(), d: '' }),
}
for (const [what, json] of Object.entries(wrong))
  test(`${what} is rejected, and the error does not contain it`, () => {
    expectRejected(json, parseSigningKeys, () => rotateSigningKeys(json))
  })

const [strong, other] = [rsa(), rsa()]
const wrongForIdTokens: Record<string, [json: string, message: string]> = {
  'a text that is not JSON': ['secret', 'is not JSON'],
  'an EC key': [set(p256()), 'is not a JWK Set of RSA keys'],
  'an RSA key and an EC key': [set(strong, p256()), 'is not a JWK Set of RSA keys'],
  'an RSA key of 1,024 bits': [set(rsa(1_024)), 'has a key of 1024 bits'],
  'a set whose first key is public': [
    set({ ...strong, d: undefined }),
    'must begin with a private key',
  ],
  'a public part of another key': [set({ ...strong, n: other.n }), 'has a damaged key'],
  'a private part without its primes': [
    set({ ...strong, p: undefined }),
    'has a damaged key',
  ],
}
for (const [what, [json, message]] of Object.entries(wrongForIdTokens))
  test(`${what} is rejected for ID tokens, and the error does not contain it`, () => {
    const error = expectRejected(json, parseIdTokenKeys, () =>
      rotateSigningKeys(json, 'RS256'),
    )
    expect(error).toContain(message)
  })

/** Returns the message of the error, which contains no secret. */
function expectRejected(
  json: string,
  parse: (json: string) => unknown,
  rotate: () => unknown,
): string {
  let message = ''
  try {
    parse(json)
  } catch (error) {
    message = (error as Error).message
  }

  expect(message).not.toBe('')
  expect(rotate).toThrow(message)
  expect(message).not.toContain('secret')
  for (const [, secret] of json.matchAll(/"[dpq]":"([^"]+)"/g))
    expect(message).not.toContain(secret)

  return message
}
