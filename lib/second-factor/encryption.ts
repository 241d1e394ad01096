import { prisma } from '../database/prisma'
import { deriveKey } from '../settings/encryption-keys'
import { env } from '../settings/env'

/** Encrypts a text with the first key of ENCRYPTION_KEY (JWE). Only `decrypt` with the same `purpose` can read it. */
export async function encrypt(text: string, purpose: string): Promise<string> {
  const { CompactEncrypt } = await import('jose')
  const jwe = new CompactEncrypt(new TextEncoder().encode(text))
  return jwe.setProtectedHeader({ alg: 'dir', enc: 'A256GCM', purpose }).encrypt(keys()[0]!)
}

/** Decrypts what `encrypt` returned. Null if the purpose differs, no key fits, or the text is anything else. */
export async function decrypt(encrypted: string, purpose: string): Promise<string | null> {
  const { compactDecrypt } = await import('jose')
  const algorithms = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }
  for (const key of keys()) {
    const opened = await compactDecrypt(encrypted, key, algorithms).catch(() => null)
    if (opened?.protectedHeader.purpose === purpose) return new TextDecoder().decode(opened.plaintext)
  }
  return null
}

/** Encrypts the secrets of all users with the first key. `failed` counts those that no key can decrypt. */
export async function resealSecondFactors(): Promise<{ done: number; failed: number }> {
  const factors = await prisma().secondFactor.findMany({ select: { userId: true, encryptedSecret: true } })
  let done = 0
  for (const { userId, encryptedSecret } of factors) {
    const secret = await decrypt(encryptedSecret, `totp ${userId}`)
    if (secret === null) continue
    const data = { encryptedSecret: await encrypt(secret, `totp ${userId}`) }
    // only if the secret is still the same: the user may have set up another one meanwhile
    await prisma().secondFactor.updateMany({ where: { userId, encryptedSecret }, data })
    done++
  }
  return { done, failed: factors.length - done }
}

function keys(): Uint8Array[] {
  const { ENCRYPTION_KEY } = env()
  if (!ENCRYPTION_KEY) throw new Error('ENCRYPTION_KEY is not set')
  return ENCRYPTION_KEY.map((key) => deriveKey(key, 'second-factor'))
}
