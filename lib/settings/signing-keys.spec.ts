import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { expect, test } from 'vitest'
import { newSigningKeys, parseSigningKeys, rotateSigningKeys } from './signing-keys'

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

test('a key without a private part can’t verify refresh tokens', () => {
  const { d, ...previous } = p256()
  expect(parseSigningKeys(set(p256(), previous)).refreshKeys).toHaveLength(1)
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
for (const [what, json] of Object.entries(wrong)) {
  test(`${what} is rejected, and the error does not contain it`, () => {
    let message = ''
    try {
      parseSigningKeys(json)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).not.toBe('')
    expect(() => rotateSigningKeys(json)).toThrow(message)
    expect(message).not.toContain('secret')
    for (const [, d] of json.matchAll(/"d":"([^"]+)"/g)) expect(message).not.toContain(d)
  })
}
