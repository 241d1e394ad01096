// What a setup link is about, and what it may do there.
import { prisma } from '../../database/prisma'
import { draftKind } from '../connection'
import { findUncounted, type UncountedConnection } from '../manage/connections'
import { type Draft, findDraft } from './draft'
import { findLink, type SetupLink } from './link'

/** `connection` is null for a draft. */
export type Target = {
  link: SetupLink
  slug: string
  name: string
  /** All domains of the connection. */
  domains: string[]
} & (
  | { draft: Draft; connection: null }
  | { draft: null; connection: UncountedConnection }
)

/** Returns what a link is about. Null if the link, or its connection, does not exist. */
export async function findTarget(linkId: string): Promise<Target | null> {
  const link = await findLink(linkId)
  if (!link) return null

  const row = await prisma().connection.findUnique({
    where: { id: link.connectionId },
    select: { slug: true, kind: true },
  })
  if (!row) return null

  if (row.kind === draftKind) {
    const draft = await findDraft(row.slug)
    if (!draft) return null // filled meanwhile

    const { slug, name, domains } = draft
    return { link, slug, name, domains, draft, connection: null }
  }

  const connection = await findUncounted(row.slug)
  if (!connection) return null

  const { slug, name, domains, trialDomains } = connection
  return {
    link,
    slug,
    name,
    domains: [...domains, ...trialDomains].sort(),
    draft: null,
    connection,
  }
}

/**
 * What a link may do now. `enter`: enter and correct values, because nobody can sign in.
 * `renew`: replace the secret or the certificate of an enabled connection, once.
 */
export type Stage = 'enter' | 'renew' | 'nothing'

/** Returns what a valid link may do in the present state of its connection. */
export function findStage({ link, connection }: Target): Stage {
  if (!connection || connection.disabledAt) return 'enter'
  return link.mayActivate ? 'renew' : 'nothing'
}

/** Whether a user has an email address, as `setup_links.tried_as` stores it. */
export async function isUser(email: string): Promise<boolean> {
  const user = await prisma().user.findUnique({
    where: { email },
    select: { id: true },
  })

  return user !== null
}
