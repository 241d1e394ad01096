import { beganWithOwnCredential } from '../../database/conditions'
import { mayUsePassword } from '../../database/domain-rules'
import { Prisma, prisma, type Transaction, transaction } from '../../database/prisma'
import { codeIsUsable, lockUsers, revokeSessions } from '../../session/revoke'

const batchSize = 500
const lowestId = '00000000-0000-0000-0000-000000000000'

type Work = (tx: Transaction, userIds: string[]) => Promise<number>

/**
 * In one transaction per batch, locks the rows of a query's users, and calls `work`.
 * Returns the sum of results. If the process ends early, the next run of the command does
 * the rest.
 */
export async function workInBatches(
  usersAfter: (id: string) => Prisma.Sql,
  work: Work,
): Promise<number> {
  let sum = 0
  let last: string | undefined = lowestId

  while (last) {
    const users: { id: string }[] = await prisma()
      .$queryRaw`${usersAfter(last)} LIMIT ${batchSize}`
    const ids = users.map(({ id }) => id)
    sum += await transaction(async (tx) => {
      await lockUsers(tx, ids)
      return work(tx, ids)
    })

    last = ids.at(-1)
  }

  return sum
}

/**
 * Ends the password sessions of users who may not use a password. Returns the number of
 * these users, and of the ended sessions. Call it after the commit.
 */
export async function endPasswordSessions(
  domains: string[],
): Promise<{ users: number; sessions: number }> {
  let users = 0
  let sessions = 0

  for (const domain of domains) {
    const usersAfter = (id: string) => Prisma.sql`
      SELECT id FROM users WHERE email_domain = ${domain} AND id > ${id}::uuid AND NOT ${mayUsePassword} ORDER BY id`
    sessions += await workInBatches(usersAfter, (tx, userIds) => {
      users += userIds.length
      const began = Prisma.sql`user_id = ANY (${userIds}::uuid[]) AND ${beganWithOwnCredential}`
      return tx.$executeRaw`WITH ${revokeSessions(began)} SELECT id FROM revoked`
    })
  }

  return { users, sessions }
}

/**
 * Ends users' sessions of a connection, and deletes their codes. Call `lockUsers` first.
 * Returns how many ended.
 */
export async function endSessions(
  tx: Transaction,
  connectionId: string,
  userIds: string[],
): Promise<number> {
  return tx.$executeRaw`
    WITH ${revokeSessions(Prisma.sql`user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId}`)},
    codes_deleted AS (
      DELETE FROM exchange_codes
      WHERE user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId} AND ${codeIsUsable}
    )
    SELECT id FROM revoked`
}
