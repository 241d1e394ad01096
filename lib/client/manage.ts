import { newIssuedSecret } from '../crypto/token'
import * as issued from '../database/issued-secrets'
import { Prisma, prisma, type Transaction, transaction } from '../database/prisma'
import { withEvents, writeEvent } from '../event/record'
import { env } from '../settings/env'
import { UsageError } from '../usage-error'
import { demandRedirectUri } from './redirect-uri'

type NewClient = {
  slug: string
  isPublic: boolean
  redirectUris: string[]
  postLogoutRedirectUris: string[]
  backchannelLogoutUri: string | null
  /** Null for the lifetime of session JWTs. */
  tokenMinutes: number | null
}

/**
 * Adds a client. Returns its secret, of which only the hash and the last four characters
 * are stored, or null for a public client. Throws UsageError if the slug is taken or is the
 * audience of session JWTs, or if a URI is invalid.
 */
export async function addClient(client: NewClient): Promise<string | null> {
  const { slug, isPublic, backchannelLogoutUri } = client
  const redirectUris = unique(client.redirectUris)
  const postLogoutRedirectUris = unique(client.postLogoutRedirectUris)
  demandUris([...redirectUris, ...postLogoutRedirectUris])
  if (backchannelLogoutUri !== null) demandUris([backchannelLogoutUri])

  // A service that compares only the audience must not accept an ID token.
  if (slug === env().SESSION_AUDIENCE)
    throw new UsageError(
      `${slug} is the audience of session JWTs (SESSION_AUDIENCE): choose another slug.`,
    )

  return transaction(async (tx) => {
    const [row] = await tx.client.createManyAndReturn({
      data: [{ ...client, redirectUris, postLogoutRedirectUris }],
      skipDuplicates: true,
    })

    if (!row) throw new UsageError(`There is already a client ${slug}.`)

    await writeEvent(tx, 'client_added', { clientId: row.id, slug })

    return isPublic ? null : createSecret(row.id, tx)
  })
}

async function createSecret(clientId: string, tx: Transaction): Promise<string> {
  const { secret, hash, hint } = newIssuedSecret('cs_')
  await tx.clientSecret.create({ data: { clientId, secretHash: hash, hint } })
  return secret
}

export type ListedClient = Awaited<ReturnType<typeof listClients>>[number]

/** Returns all clients in the order of their slugs, or only the client with `slug`. */
export function listClients(slug?: string) {
  return prisma().client.findMany({
    where: slug === undefined ? {} : { slug },
    orderBy: { slug: 'asc' },
    omit: { createdAt: true },
    include: {
      secrets: {
        orderBy: { createdAt: 'asc' },
        select: { hint: true, createdAt: true, expiresAt: true, revokedAt: true },
      },
    },
  })
}

export type ClientChange = {
  addedRedirectUris: string[]
  removedRedirectUris: string[]
  addedPostLogoutRedirectUris: string[]
  removedPostLogoutRedirectUris: string[]
  /** Null removes it. Undefined: not changed. */
  backchannelLogoutUri?: string | null
  /** Undefined: not changed. */
  tokenMinutes?: number
}

/**
 * Changes a client. Throws UsageError if a new URI is invalid, if a URI to remove is not
 * registered, or if no redirect URI would be left.
 */
export async function updateClient(
  { id }: ListedClient,
  change: ClientChange,
): Promise<void> {
  const { addedRedirectUris, addedPostLogoutRedirectUris, backchannelLogoutUri } = change
  demandUris([...addedRedirectUris, ...addedPostLogoutRedirectUris])
  if (backchannelLogoutUri) demandUris([backchannelLogoutUri])

  await transaction(async (tx) => {
    // locked, so that concurrent updates of the lists both take effect
    await tx.$queryRaw`SELECT FROM clients WHERE id = ${id} FOR NO KEY UPDATE`
    const client = await tx.client.findUniqueOrThrow({ where: { id } })

    const redirectUris = changeUris(
      client.redirectUris,
      addedRedirectUris,
      change.removedRedirectUris,
    )
    if (redirectUris.length === 0)
      throw new UsageError(
        'A client needs a redirect URI. To stop its sign-ins, disable it.',
      )

    const postLogoutRedirectUris = changeUris(
      client.postLogoutRedirectUris,
      addedPostLogoutRedirectUris,
      change.removedPostLogoutRedirectUris,
    )

    await tx.client.update({
      where: { id },
      data: {
        redirectUris,
        postLogoutRedirectUris,
        ...(backchannelLogoutUri !== undefined && { backchannelLogoutUri }),
        tokenMinutes: change.tokenMinutes ?? client.tokenMinutes,
      },
    })
    await writeEvent(tx, 'client_changed', { clientId: id, changed: listChanged(change) })
  })
}

/** Returns the names of the settings that a change names, for its event. */
function listChanged(change: ClientChange): string[] {
  const { addedRedirectUris, removedRedirectUris, backchannelLogoutUri } = change
  const { addedPostLogoutRedirectUris, removedPostLogoutRedirectUris } = change
  const isNamed = {
    redirectUris: [...addedRedirectUris, ...removedRedirectUris].length > 0,
    postLogoutRedirectUris:
      [...addedPostLogoutRedirectUris, ...removedPostLogoutRedirectUris].length > 0,
    backchannelLogoutUri: backchannelLogoutUri !== undefined,
    tokenMinutes: change.tokenMinutes !== undefined,
  }

  return Object.entries(isNamed).flatMap(([name, named]) => (named ? [name] : []))
}

/** Returns a list with more URIs, and without the removed ones. */
function changeUris(current: string[], added: string[], removed: string[]): string[] {
  const unknown = removed.find((uri) => !current.includes(uri))
  if (unknown !== undefined) throw new UsageError(`${unknown} was not registered.`)

  return unique([...current, ...added]).filter((uri) => !removed.includes(uri))
}

/**
 * Creates a secret of a client, and returns it. The current secrets expire after
 * `keepSeconds` or earlier. Throws UsageError for a public client.
 */
export async function rotateSecret(
  { id, slug, isPublic }: ListedClient,
  keepSeconds: number,
): Promise<string> {
  if (isPublic)
    throw new UsageError(`${slug} is a public client, so it has no secret to rotate.`)

  return transaction(async (tx) => {
    await issued.expireSecrets(tx, 'client_secrets', id, keepSeconds)
    await writeEvent(tx, 'client_secret_issued', { clientId: id })
    return createSecret(id, tx)
  })
}

/** Revokes the live secrets that end with `hint`. Returns their number. */
export function revokeSecrets({ id }: ListedClient, hint: string): Promise<number> {
  return issued.revokeSecrets('client_secrets', id, hint, (change) =>
    withEvents(change, 'client_secret_revoked', { clientId: id }),
  )
}

/** Returns the number of valid secrets of a client, by the database's clock. */
export function countLiveSecrets({ id }: ListedClient): Promise<number> {
  return issued.countLiveSecrets('client_secrets', id)
}

/** Disables a client, so that nobody can sign in at it, or enables it again. */
export async function setDisabled(
  { id }: ListedClient,
  isDisabled: boolean,
): Promise<void> {
  const since = isDisabled ? Prisma.sql`coalesce(disabled_at, now())` : Prisma.sql`NULL`
  const change = Prisma.sql`UPDATE clients SET disabled_at = ${since} WHERE id = ${id}`
  const kind = isDisabled ? 'client_disabled' : 'client_enabled'
  await prisma().$executeRaw(withEvents(change, kind, { clientId: id }))
}

/** Deletes a client with its secrets. */
export async function removeClient({ id, slug }: ListedClient): Promise<void> {
  await transaction(async (tx) => {
    await tx.client.delete({ where: { id } })
    await writeEvent(tx, 'client_removed', { clientId: id, slug })
  })
}

function demandUris(uris: string[]): void {
  for (const uri of uris) demandRedirectUri(uri, env().PUBLIC_URL)
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)]
}
