// The commands of `npm run connections` about the directory of a connection.
import { createScimToken, listScimTokens, revokeScimTokens } from '../lib/scim/manage'
import { basePath } from '../lib/scim/resource'
import { env } from '../lib/settings/env'
import type { StoredConnection } from '../lib/sso/manage/connections'
import { UsageError } from '../lib/usage-error'
import { printIssuedSecret, readSeconds } from './command-line'

type Named = Pick<StoredConnection, 'id' | 'slug'>

/** Prints a new token of the directory of a connection, or revokes one by its hint. */
export async function changeToken(
  connection: Named,
  { keep, revoke }: { keep?: string; revoke?: string },
): Promise<void> {
  if (keep !== undefined && revoke !== undefined)
    throw new UsageError('Pass --keep or --revoke, not both.')
  if (revoke !== undefined) return revokeToken(connection, revoke)

  const seconds = readSeconds('--keep', keep ?? '0m')
  const hasLive = (await listScimTokens(connection)).some(isLive)
  const token = await createScimToken(connection, seconds)
  const old =
    seconds > 0
      ? `The old one works for ${keep}: replace it in the directory by then.`
      : 'The old one works no longer.'

  console.error(
    `This is the token of the directory of ${connection.slug}, which is not shown again.${hasLive ? ` ${old}` : ''}`,
  )
  console.error(`Its URL: ${env().PUBLIC_URL}${basePath}`)
  if (!env().SCIM) console.error('Directories can use it only with SCIM=true.')
  console.log(token)
}

async function revokeToken(connection: Named, hint: string): Promise<void> {
  const { slug } = connection
  const count = await revokeScimTokens(connection, hint)
  if (count === 0)
    throw new UsageError(
      `${slug} has no live token …${hint}. See npm run connections -- show ${slug}`,
    )

  const which = count === 1 ? 'the token' : `${count} tokens`
  console.log(
    `Revoked ${which} …${hint}. The directory of ${slug} can’t use it any more.`,
  )
}

type Listed = { expiresAt: Date | null; revokedAt: Date | null }

function isLive({ expiresAt, revokedAt }: Listed): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > new Date())
}

/** Prints the tokens of the directory of a connection. */
export async function printTokens(connection: Named): Promise<void> {
  for (const token of await listScimTokens(connection))
    printIssuedSecret('SCIM token', token)
}

/** Prints how many users the directory of a removed connection had disabled. */
export function reportDisabled(count: number): void {
  if (count === 0) return

  console.log(`Users whom its directory had disabled, and who stay so: ${count}.`)
  console.log('To enable one: npm run users -- enable EMAIL')
}
