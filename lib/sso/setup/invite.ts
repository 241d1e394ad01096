// What `npm run connections -- invite` does: drafts, and links to connections.
import { randomUUID } from 'node:crypto'
import { type Transaction, transaction } from '../../database/prisma'
import { writeEvent } from '../../event/record'
import { UsageError } from '../../usage-error'
import { changeRow, type ListedConnection, listConnections } from '../manage/connections'
import { addDomains } from '../manage/domains'
import { createDraftColumns, findDraft } from './draft'
import { createLink, endLinks } from './manage-links'

export const maxLinkDays = 30

export type Invitation = {
  slug: string
  /** The label of the connection, for a new draft. By default the slug. */
  name?: string | undefined
  domains: string[] // in their ASCII form
  beside?: string | undefined
  mayActivate: boolean
  days: number
  /** Empties a connection without users before. */
  startOver: boolean
}

/** `state` is that of the connection, which decides what the link may do. */
export type Invited = { url: string; state: 'new' | 'draft' | 'disabled' | 'enabled' }

/**
 * Makes a setup link. A new slug becomes a draft. The earlier link of the connection ends.
 * Throws UsageError if a domain is live elsewhere, or if the link could do nothing.
 */
export async function invite(invitation: Invitation): Promise<Invited> {
  const { slug, startOver, name } = invitation
  const [connection] = await listConnections(slug)
  const draft = connection ? null : await findDraft(slug)
  if ((connection || draft) && name !== undefined)
    throw new UsageError(`${slug} has a name: --name is only for a new draft.`)

  if (connection && !startOver) return inviteToConnection(connection, invitation)

  if (connection) return inviteToEmptied(connection, invitation)

  if (draft) return { url: await inviteToRow(draft, invitation), state: 'draft' }

  return { url: await inviteToNew(invitation), state: 'new' }
}

async function inviteToConnection(
  connection: ListedConnection,
  invitation: Invitation,
): Promise<Invited> {
  const { slug, disabledAt } = connection
  if (!disabledAt && !invitation.mayActivate)
    throw new UsageError(
      `${slug} is enabled. A link may replace its secret or its certificates only with --may-apply.`,
    )

  const url = await inviteToRow(connection, invitation)
  return { url, state: disabledAt ? 'disabled' : 'enabled' }
}

/** Makes a link for a connection or draft that exists, and adds the domains to it. */
async function inviteToRow(
  { id, slug }: { id: string; slug: string },
  { domains, beside, ...link }: Invitation,
): Promise<string> {
  return transaction(async (tx) => {
    const url = await createLink(tx, id, link)
    await addDomains(tx, { id, slug }, domains, { beside })
    return url
  })
}

async function inviteToNew(invitation: Invitation): Promise<string> {
  const { slug, name = slug, domains, beside } = invitation
  if (domains.length === 0) throw new UsageError('Name at least one --domain.')
  if (invitation.startOver) throw new UsageError(`There is no connection ${slug}.`)

  const id = randomUUID()
  const columns = await createDraftColumns(id, slug)

  return transaction(async (tx) => {
    const added = await tx.connection.createMany({
      data: [{ id, slug, name, ...columns }],
      skipDuplicates: true,
    })
    if (added.count === 0) throw new UsageError(`There is already a connection ${slug}.`)

    await disable(tx, id)
    await addDomains(tx, { id, slug }, domains, { beside })
    await writeEvent(tx, 'connection_added', { connectionId: id, slug })

    return createLink(tx, id, invitation)
  })
}

/** Makes a connection without users a draft again, with a new key pair. */
async function inviteToEmptied(
  connection: ListedConnection,
  invitation: Invitation,
): Promise<Invited> {
  const { id, slug, domains } = connection
  if (domains.length > 0)
    throw new UsageError(
      `${slug} is live for ${domains.join(', ')}. First: npm run connections -- deactivate ${slug}`,
    )

  const columns = await createDraftColumns(id, slug)

  const url = await transaction(async (tx) => {
    await endLinks(tx, id)
    await changeRow(tx, connection, { ...columns, triedAt: null })
    await disable(tx, id)
    await demandNoUsers(tx, connection)
    await addDomains(tx, connection, invitation.domains, { beside: invitation.beside })
    await recordEmptied(tx, connection)

    return createLink(tx, id, invitation)
  })

  return { url, state: 'draft' }
}

async function recordEmptied(
  tx: Transaction,
  { id: connectionId, settings, disabledAt }: ListedConnection,
): Promise<void> {
  const changed = [...Object.keys(settings), 'secrets']
  await writeEvent(tx, 'connection_changed', { connectionId, changed })
  if (!disabledAt) await writeEvent(tx, 'connection_disabled', { connectionId })
}

async function disable(tx: Transaction, id: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}::uuid`
}

async function demandNoUsers(
  tx: Transaction,
  { id, slug }: ListedConnection,
): Promise<void> {
  // waits for first sign-ins that have locked one of the rows
  await tx.$executeRaw`
    SELECT 1 FROM connection_domains WHERE connection_id = ${id}::uuid ORDER BY domain FOR UPDATE`

  const linked = await tx.identity.count({ where: { connectionId: id } })
  if (linked > 0)
    throw new UsageError(
      `${slug} has users, so it can’t start over. To change its provider, add another connection: npm run connections -- invite NEW-SLUG --domain DOMAIN --beside ${slug}`,
    )
}

/** Ends the valid link of a connection or draft. Returns whether there was one. */
export async function revokeLink({ id }: { id: string }): Promise<boolean> {
  return (await transaction((tx) => endLinks(tx, id))) > 0
}
