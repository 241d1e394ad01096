import { prisma } from '../../database/prisma'
import { decryptDraftSecrets, encryptDraftSecrets, listDrafts } from './draft'

/**
 * Encrypts the private keys of all drafts with the first key of ENCRYPTION_KEY. Returns a
 * line for each that no key can decrypt.
 */
export async function reencryptDrafts(): Promise<string[]> {
  const problems: string[] = []

  for (const draft of await listDrafts())
    try {
      const secrets = await decryptDraftSecrets(draft)
      const { id, encryptedSecrets } = draft
      await prisma().connection.updateMany({
        where: { id, encryptedSecrets },
        data: { encryptedSecrets: await encryptDraftSecrets(draft, secrets) },
      })
    } catch (error) {
      problems.push(`${draft.slug}: ${(error as Error).message}`)
    }

  return problems
}
