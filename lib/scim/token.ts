import type { Check } from '../contract/checks'
import { hashSecret } from '../crypto/token'
import { isSecretLive } from '../database/issued-secrets'
import { prisma } from '../database/prisma'
import { ScimError } from './error'

/** The directory that has sent a request. Its token is known by `tokenId`. */
export type Directory = {
  tokenId: string
  connectionId: string
  slug: string // of the connection
  isDisabled: boolean
}

/** Returns the directory with a live token, or null. */
export async function findDirectory(token: string | null): Promise<Directory | null> {
  if (token === null) return null

  const [row] = await prisma().$queryRaw<Directory[]>`
    SELECT id AS "tokenId", connection_id AS "connectionId",
      (SELECT slug FROM connections WHERE connections.id = connection_id) AS slug,
      (SELECT disabled_at IS NOT NULL FROM connections WHERE connections.id = connection_id) AS "isDisabled"
    FROM scim_tokens WHERE token_hash = ${hashSecret(token)} AND ${isSecretLive}`

  return row ?? null
}

/** Returns the error for a token that is not live. */
export async function rejectToken(token: string | null): Promise<ScimError> {
  const check = token === null ? 'token_missing' : await explainToken(token)
  return new ScimError(
    401,
    check,
    'The Bearer token is missing, unknown, revoked or expired.',
  )
}

async function explainToken(token: string): Promise<Check> {
  const [row] = await prisma().$queryRaw<{ check: Check }[]>`
    SELECT CASE WHEN revoked_at IS NOT NULL THEN 'token_revoked' WHEN expires_at <= now() THEN 'token_expired'
        ELSE 'token_changed' END AS check
    FROM scim_tokens WHERE token_hash = ${hashSecret(token)}`

  return row?.check ?? 'token_unknown'
}
