import { newIssuedSecret } from '../crypto/token'
import { expireSecrets, revokeSecrets } from '../database/issued-secrets'
import { prisma, transaction } from '../database/prisma'
import { withEvents, writeEvent } from '../event/record'

type Named = { id: string }

/**
 * Creates a token for the directory of a connection, `scim_` and 43 characters, and returns
 * it. Only its hash and its last four characters are stored. The current tokens expire after
 * `keepSeconds` or earlier.
 */
export function createScimToken({ id }: Named, keepSeconds: number): Promise<string> {
  return transaction(async (tx) => {
    await expireSecrets(tx, 'scim_tokens', id, keepSeconds)
    const { secret, hash, hint } = newIssuedSecret('scim_')
    await tx.scimToken.create({ data: { connectionId: id, tokenHash: hash, hint } })
    await writeEvent(tx, 'directory_token_issued', { connectionId: id })
    return secret
  })
}

/** Revokes the live tokens that end with `hint`. Returns their number. */
export function revokeScimTokens({ id }: Named, hint: string): Promise<number> {
  return revokeSecrets('scim_tokens', id, hint, (change) =>
    withEvents(change, 'directory_token_revoked', { connectionId: id }),
  )
}

/** Returns the tokens of a connection, the oldest first. */
export function listScimTokens({ id }: Named) {
  return prisma().scimToken.findMany({
    where: { connectionId: id },
    orderBy: { createdAt: 'asc' },
    select: { hint: true, createdAt: true, expiresAt: true, revokedAt: true },
  })
}

/** Returns how many users the directory of a connection has disabled. */
export function countDisabled({ id }: Named): Promise<number> {
  return prisma().user.count({ where: { disabledBy: id, disabledAt: { not: null } } })
}
