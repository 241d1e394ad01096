import { randomBytes } from 'node:crypto'
import { CompactEncrypt } from 'jose'
import { afterAll, expect, test, vi } from 'vitest'
import { deriveKey } from '../settings/encryption-keys'
import { env } from '../settings/env'

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const settings = { kind: 'oidc' as const, issuer: 'https://idp.example', clientId: 'x' }
const binding = { connection: 'id', issuer: settings.issuer, clientId: settings.clientId }
const secrets = { clientSecret: 'the secret' }

afterAll(() => {
  delete env().ENCRYPTION_KEY
})

/** Returns the module as loaded in a process with these keys. */
async function withKeys(...keys: Buffer[]) {
  vi.resetModules()
  env().ENCRYPTION_KEY = keys
  const { decryptSecrets, encryptSecrets } = await import('./secrets')
  return {
    encrypt: () => encryptSecrets(secrets, binding),
    decrypt: (encryptedSecrets: string) =>
      decryptSecrets({ id: 'id', settings, encryptedSecrets }),
  }
}

const encryptedWith = (key: Uint8Array) =>
  new CompactEncrypt(Buffer.from(JSON.stringify(secrets)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...binding })
    .encrypt(key)

test('the first key encrypts, and every key decrypts', async () => {
  const encrypted = await (await withKeys(first, second)).encrypt()
  for (const keys of [[first], [second, first]])
    expect(await (await withKeys(...keys)).decrypt(encrypted)).toEqual(secrets)
  await expect((await withKeys(second, third)).decrypt(encrypted)).rejects.toMatchObject({
    check: 'secrets',
  })
})

test('encrypts with a key derived from ENCRYPTION_KEY, and decrypts earlier data, encrypted with ENCRYPTION_KEY itself', async () => {
  const { decrypt } = await withKeys(second, first)
  for (const key of [first, second, deriveKey(first, 'connection-secrets')])
    expect(await decrypt(await encryptedWith(key))).toEqual(secrets)
  await expect(
    decrypt(await encryptedWith(deriveKey(first, 'another'))),
  ).rejects.toMatchObject({ check: 'secrets' })
  const encrypted = await (await withKeys(first)).encrypt()
  const { compactDecrypt } = await import('jose')
  await expect(compactDecrypt(encrypted, first)).rejects.toThrow()
})
