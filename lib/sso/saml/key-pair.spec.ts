import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { newKeyPair } from './key-pair'

test('a new key pair consists of an RSA key of 2048 bits and its self-signed certificate for ten years', async () => {
  const now = new Date('2026-11-22T10:11:12Z')
  const { privateKey, certificate } = await newKeyPair('login.example', now)
  const parsed = new X509Certificate(certificate)
  expect(parsed.toString()).toBe(certificate)
  expect(parsed.subject).toBe('CN=login.example')
  expect(parsed.issuer).toBe(parsed.subject)
  expect(new Date(parsed.validFrom)).toEqual(now)
  expect(new Date(parsed.validTo)).toEqual(new Date('2036-11-22T10:11:12Z'))
  expect(parsed.serialNumber).toMatch(/^4[0-9A-F]{31}$/)
  expect(parsed.verify(parsed.publicKey)).toBe(true)
  expect(parsed.publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 2048 })
  expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
  expect(parsed.checkPrivateKey(createPrivateKey(privateKey))).toBe(true)
})

test('two key pairs are different, and a certificate may expire after 2049', async () => {
  const [one, two] = (
    await Promise.all([
      newKeyPair('a'),
      newKeyPair('x'.repeat(64), new Date('2045-01-01T00:00:00Z')),
    ])
  ).map(({ certificate }) => new X509Certificate(certificate))
  expect(one!.serialNumber).not.toBe(two!.serialNumber)
  expect(one!.verify(two!.publicKey)).toBe(false)
  expect(new Date(two!.validTo)).toEqual(new Date('2055-01-01T00:00:00Z'))
  expect(two!.subject).toBe(`CN=${'x'.repeat(64)}`)
})
