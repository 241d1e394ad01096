import { decryptText, encryptText } from '../crypto/encryption'
import { prisma } from '../database/prisma'

/**
 * Encrypts a text with the first key of ENCRYPTION_KEY. Only `decrypt` with the same
 * `purpose` can read it.
 */
export const encrypt = (text: string, purpose: string) =>
  encryptText(text, 'second-factor', { purpose })

/**
 * Decrypts the result of `encrypt`. Returns null if the purpose differs, no key matches,
 * or the text is invalid.
 */
export const decrypt = (encrypted: string, purpose: string) =>
  decryptText(encrypted, 'second-factor', { purpose })

/**
 * Encrypts the secrets of all users again with the first key. `failed` counts secrets
 * that no key can decrypt.
 */
export async function reencryptSecondFactors(): Promise<{
  done: number
  failed: number
}> {
  const factors = await prisma().secondFactor.findMany({
    select: { userId: true, encryptedSecret: true },
  })
  let done = 0

  for (const { userId, encryptedSecret } of factors) {
    const secret = await decrypt(encryptedSecret, `totp ${userId}`)
    if (secret === null) continue
    const data = { encryptedSecret: await encrypt(secret, `totp ${userId}`) }

    // only an unchanged secret, because the user may have replaced it meanwhile
    await prisma().secondFactor.updateMany({ where: { userId, encryptedSecret }, data })
    done++
  }

  return { done, failed: factors.length - done }
}
