import { prisma } from '../../database/prisma'
import { draftKind, findAnyConnection, isSaml } from '../connection'
import { describeService, readPublicSettings } from '../saml/metadata'
import type { PublicSettings } from '../saml/settings'
import { findDraft } from './draft'

/**
 * Returns the settings for our metadata of a draft, or of a disabled SAML connection that
 * has had a setup link. Null for others. The slug may be any text.
 */
export async function findUnfinishedSettings(
  slug: string,
): Promise<PublicSettings | null> {
  const row = await prisma().connection.findFirst({
    where: { slug, disabledAt: { not: null }, setupLinks: { some: {} } },
    select: { kind: true },
  })
  if (!row) return null

  if (row.kind === draftKind) {
    const draft = await findDraft(slug)
    return draft && describeService(draft)
  }

  const connection = await findAnyConnection(slug)
  return connection && isSaml(connection) ? readPublicSettings(connection) : null
}
