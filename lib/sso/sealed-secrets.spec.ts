import { randomBytes } from 'node:crypto'
import { CompactEncrypt } from 'jose'
import { expect, test, vi } from 'vitest'
import { deriveKey } from '../settings/encryption-keys'

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const settings = { kind: 'oidc' as const, issuer: 'https://idp.example', clientId: 'x' }
const binding = { connection: 'id', issuer: settings.issuer, clientId: settings.clientId }
const secrets = { clientSecret: 'the secret' }

/** The module in a process with these keys. */
async function withKeys(...keys: Buffer[]) {
  vi.resetModules()
  vi.stubEnv('ENCRYPTION_KEY', keys.map((key) => key.toString('base64')).join(', '))
  const { openSecrets, sealSecrets } = await import('./sealed-secrets')
  return {
    seal: () => sealSecrets(secrets, binding),
    open: (sealedSecrets: string) => openSecrets({ id: 'id', settings, sealedSecrets }),
  }
}

const sealedWith = (key: Uint8Array) =>
  new CompactEncrypt(Buffer.from(JSON.stringify(secrets)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...binding })
    .encrypt(key)

test('the first key seals, and every key opens', async () => {
  const sealed = await (await withKeys(first, second)).seal()
  for (const keys of [[first], [second, first]]) expect(await (await withKeys(...keys)).open(sealed)).toEqual(secrets)
  await expect((await withKeys(second, third)).open(sealed)).rejects.toMatchObject({ check: 'secrets' })
})

test('opens what the key itself sealed, and seals with a key that is derived for connections', async () => {
  const { open } = await withKeys(second, first)
  for (const key of [first, second, deriveKey(first, 'connection-secrets')])
    expect(await open(await sealedWith(key))).toEqual(secrets)
  await expect(open(await sealedWith(deriveKey(first, 'another')))).rejects.toMatchObject({ check: 'secrets' })
  const sealed = await (await withKeys(first)).seal()
  const { compactDecrypt } = await import('jose')
  await expect(compactDecrypt(sealed, first)).rejects.toThrow()
})
