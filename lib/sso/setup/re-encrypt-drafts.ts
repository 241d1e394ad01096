import { transaction } from '../../database/prisma'
import { writeEvent } from '../../event/record'
import { type Draft, decryptDraftSecrets, encryptDraftSecrets, listDrafts } from './draft'

/**
 * Encrypts the private keys of all drafts with the first key of ENCRYPTION_KEY. Returns a
 * line for each that no key can decrypt.
 */
export async function reencryptDrafts(): Promise<string[]> {
  const problems: string[] = []

  for (const draft of await listDrafts())
    try {
      await reencryptDraft(draft)
    } catch (error) {
      problems.push(`${draft.slug}: ${(error as Error).message}`)
    }

  return problems
}

async function reencryptDraft(draft: Draft): Promise<void> {
  const { id, encryptedSecrets } = draft
  const secrets = await decryptDraftSecrets(draft)
  const data = { encryptedSecrets: await encryptDraftSecrets(draft, secrets) }

  await transaction(async (tx) => {
    const where = { id, encryptedSecrets }
    const { count } = await tx.connection.updateMany({ where, data })
    const about = { connectionId: id, changed: ['secrets'] }
    if (count > 0) await writeEvent(tx, 'keys_reencrypted', about)
  })
}
