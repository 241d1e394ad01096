// Moves a connection to another issuer at which its users have the same subjects.
// prepare-move.ts reads the new issuer.
import { prisma, type Transaction } from '../../database/prisma'
import { log } from '../../log/log'
import { UsageError } from '../../usage-error'
import type { Connection } from '../connection'

const rowsAtOnce = 10_000

/**
 * Gives all links of a connection the new issuer. Call it after the row of the connection
 * was changed.
 */
export async function moveIdentities(
  tx: Transaction,
  { id, slug }: Connection,
  issuer: string,
): Promise<void> {
  // Waits for first sign-ins that have locked one of the rows, so that this sees their
  // links. Later ones wait, and see the new issuer.
  await tx.$executeRaw`
    SELECT 1 FROM connection_domains WHERE connection_id = ${id} ORDER BY domain FOR UPDATE`

  const known = await tx.$queryRaw<{ issuer: string }[]>`
    SELECT DISTINCT issuer FROM identities WHERE connection_id = ${id}`
  if (known.length > 1)
    throw new UsageError(
      `${slug} has users of several issuers: --same-users can’t move them.`,
    )

  // their browsers are at the old provider: their sign-ins begin again
  await inSteps(
    () => tx.$executeRaw`
      DELETE FROM sso_attempts WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM sso_attempts WHERE connection_id = ${id} LIMIT ${rowsAtOnce}))`,
  )

  const from = known[0]?.issuer ?? issuer
  if (from !== issuer)
    await inSteps(
      () => tx.$executeRaw`
        UPDATE identities SET issuer = ${issuer} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM identities WHERE connection_id = ${id} AND issuer = ${from} LIMIT ${rowsAtOnce}))`,
    )
}

/** Logs a move. If the subjects are not the same, people get the accounts of others. */
export function logMove({ slug, settings }: Connection, issuer: string): void {
  log.warn(
    { connection: slug, from: settings.issuer, to: issuer },
    'a connection has another issuer: whoever has the subject of a user there is that user',
  )
}

/** Repeats a statement until it changes no row, because each has a time limit. */
async function inSteps(step: () => Promise<number>): Promise<void> {
  while ((await step()) > 0);
}

/** Returns how many users are linked, and one of them with the subject, to compare. */
export async function readLinks({
  id,
}: Connection): Promise<{ count: number; email: string; subject: string } | null> {
  const where = { connectionId: id, userId: { not: null } }
  const count = await prisma().identity.count({ where })
  const example = await prisma().identity.findFirst({
    where,
    orderBy: { createdAt: 'asc' },
    select: { subject: true, user: { select: { email: true } } },
  })

  return example && { count, email: example.user!.email, subject: example.subject }
}
