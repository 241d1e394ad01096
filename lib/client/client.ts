import type { Check } from '../contract/checks'
import { ApiError } from '../contract/errors'
import { hashSecret } from '../crypto/token'
import { isSecretLive } from '../database/issued-secrets'
import { Prisma, prisma } from '../database/prisma'
import type { Credentials } from './credentials'

/** A client, for a request that does not authenticate it. */
export type Client = {
  id: string
  slug: string
  isPublic: boolean
  redirectUris: string[]
  postLogoutRedirectUris: string[]
  disabledAt: Date | null
}

/** Returns the client with a `client_id`, also if it is disabled, or null. */
export function findClient(slug: string): Promise<Client | null> {
  return prisma().client.findUnique({
    where: { slug },
    select: {
      id: true,
      slug: true,
      isPublic: true,
      redirectUris: true,
      postLogoutRedirectUris: true,
      disabledAt: true,
    },
  })
}

/** A client that has authenticated. `tokenMinutes` is null for the usual lifetime. */
export type AuthenticatedClient = { id: string; tokenMinutes: number | null }

/**
 * A SELECT of the enabled client with a `client_id` and a live secret. A public client has
 * no secret, so `secret` is null.
 */
export function selectAuthenticated(slug: string, secret: string | null): Prisma.Sql {
  const hash = secret === null ? null : hashSecret(secret)
  return Prisma.sql`
    SELECT id, token_minutes AS "tokenMinutes" FROM clients
    WHERE slug = ${slug} AND disabled_at IS NULL AND (
      (public AND ${hash}::bytea IS NULL)
      OR id = (SELECT client_id FROM client_secrets WHERE secret_hash = ${hash} AND ${isSecretLive}))`
}

/** Returns the client that `selectAuthenticated` selects, or null. */
export async function authenticateClient(
  slug: string,
  secret: string | null,
): Promise<AuthenticatedClient | null> {
  const [row] = await prisma().$queryRaw<AuthenticatedClient[]>(
    selectAuthenticated(slug, secret),
  )
  return row ?? null
}

/** Returns what `authenticateClient` returns. Throws CLIENT_INVALID instead of null. */
export async function requireClient({
  slug,
  secret,
}: Credentials): Promise<AuthenticatedClient> {
  const client = await authenticateClient(slug, secret)
  if (client) return client

  throw new ApiError('CLIENT_INVALID', { check: await explainClient(slug, secret) })
}

/** Returns why a client could not authenticate, for the log. */
async function explainClient(slug: string, secret: string | null): Promise<Check> {
  const client = await findClient(slug)
  if (!client) return 'client_unknown'
  if (client.disabledAt) return 'client_disabled'

  return client.isPublic && secret !== null ? 'client_public' : 'client_secret'
}
