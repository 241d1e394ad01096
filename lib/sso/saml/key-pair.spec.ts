import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { newKeyPair } from './key-pair'

test('a new key pair consists of an RSA key of 2048 bits and its self-signed certificate for ten years', async () => {
  const names = ['login.example', 'x'.repeat(64)]
  const starts = ['2026-11-22T10:11:12Z', '2045-01-01T00:00:00Z']
  const pairs = await Promise.all(
    names.map((name, index) => newKeyPair(name, new Date(starts[index]!))),
  )
  const [first, second] = pairs.map(({ certificate }) => new X509Certificate(certificate))
  expect(first!.serialNumber).not.toBe(second!.serialNumber)
  expect(first!.verify(second!.publicKey)).toBe(false)
  expect(new Date(first!.validTo)).toEqual(new Date('2036-11-22T10:11:12Z'))
  expect(new Date(second!.validTo), 'after 2049').toEqual(
    new Date('2055-01-01T00:00:00Z'),
  )
  for (const [index, { privateKey, certificate }] of pairs.entries()) {
    const parsed = new X509Certificate(certificate)
    expect(parsed.toString()).toBe(certificate)
    expect(parsed.subject).toBe(`CN=${names[index]}`)
    expect(parsed.issuer).toBe(parsed.subject)
    expect(new Date(parsed.validFrom)).toEqual(new Date(starts[index]!))
    expect(parsed.serialNumber).toMatch(/^4[0-9A-F]{31}$/)
    expect(parsed.verify(parsed.publicKey)).toBe(true)
    expect(parsed.publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 2048 })
    expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
    expect(parsed.checkPrivateKey(createPrivateKey(privateKey))).toBe(true)
  }
})
