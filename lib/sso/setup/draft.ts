// A draft: a connection whose provider is not known yet. It has domains in trial and our key
// pair, so that our metadata exists before the values of the provider are entered.
import * as z from 'zod'
import { decryptText } from '../../crypto/encryption'
import { prisma } from '../../database/prisma'
import { draftKind, type Row } from '../connection'
import { newKeyPair } from '../saml/key-pair'
import { encryptSecrets, readFingerprint, type Secrets } from '../secrets'

const DraftSettings = z.strictObject({
  certificate: z.string().startsWith('-----BEGIN CERTIFICATE-----'), // PEM
})

export type Draft = Pick<
  Row,
  'id' | 'slug' | 'name' | 'encryptedSecrets' | 'createdAt'
> & {
  certificate: string
  domains: string[]
}

/** Returns the draft with a slug, or null. */
export async function findDraft(slug: string): Promise<Draft | null> {
  const [draft] = await listDrafts(slug)
  return draft ?? null
}

/** Returns all drafts in the order of their slugs, or only the draft with `slug`. */
export async function listDrafts(slug?: string): Promise<Draft[]> {
  const rows = await prisma().connection.findMany({
    where: { kind: draftKind, ...(slug !== undefined && { slug }) },
    orderBy: { slug: 'asc' },
    select: {
      id: true,
      slug: true,
      name: true,
      settings: true,
      encryptedSecrets: true,
      createdAt: true,
      domains: { orderBy: { domain: 'asc' }, select: { domain: true } },
    },
  })

  return rows.map(({ settings, domains, ...row }) => ({
    ...row,
    ...DraftSettings.parse(settings),
    domains: domains.map(({ domain }) => domain),
  }))
}

/** Returns the columns of a new draft, with a new key pair. */
export async function createDraftColumns(id: string, slug: string) {
  const { certificate, privateKey } = await newKeyPair(slug)

  return {
    kind: draftKind,
    settings: { certificate },
    encryptedSecrets: await encryptDraftSecrets({ id, certificate }, { privateKey }),
  }
}

type Key = Pick<Draft, 'id' | 'certificate'>

/** Encrypts the private key of a draft. */
export function encryptDraftSecrets(key: Key, secrets: Secrets): Promise<string> {
  return encryptSecrets(secrets, createDraftBinding(key))
}

function createDraftBinding({ id, certificate }: Key): Record<string, string> {
  return { connection: id, draft: readFingerprint(certificate) }
}

/** Decrypts the private key of a draft. Throws if no key of ENCRYPTION_KEY matches. */
export async function decryptDraftSecrets(draft: Draft): Promise<Secrets> {
  const text = await decryptText(
    draft.encryptedSecrets ?? '',
    'connection-secrets',
    createDraftBinding(draft),
  )
  if (text === null)
    throw new Error(`No key in ENCRYPTION_KEY fits the draft ${draft.slug}.`)

  return JSON.parse(text)
}
