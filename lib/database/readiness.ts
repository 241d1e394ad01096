import type { Check } from '../contract/checks'
import { errorCode, poolerRemedies } from '../log/error-code'
import { log } from '../log/log'
import { prisma } from './prisma'

const remedies: Record<string, string> = {
  ...poolerRemedies,
  '42P01': 'the database was never migrated: npm run migrate',
  '42501': 'the role may not read _prisma_migrations: run part 3 of deploy/database.sql',
}

const checks: Record<string, Check> = {
  '42P01': 'migrations_pending',
  '42501': 'database_rights',
}

/**
 * Returns what is not ready: the database is read-only or not migrated, and null
 * otherwise. Logs what to do. Throws if the database is unreachable.
 */
export async function findUnready(): Promise<Check | null> {
  try {
    const { isReadOnly, pending } = await readState()
    if (isReadOnly) log.error('the database is read-only')
    if (pending.length > 0)
      log.error({ pending }, 'migrations are pending: npm run migrate')

    if (isReadOnly) return 'database_read_only'
    return pending.length > 0 ? 'migrations_pending' : null
  } catch (error) {
    const code = errorCode(error as Error) ?? ''
    const remedy = remedies[code]
    if (!remedy) throw error
    log.error(remedy)
    return checks[code] ?? 'database_pooler'
  }
}

/** Returns how many migrations of this version the database lacks. Throws like Prisma. */
export async function countPending(): Promise<number> {
  return (await readState()).pending.length
}

async function readState(): Promise<{ isReadOnly: boolean; pending: string[] }> {
  // of this version (next.config.mjs)
  const migrations: string[] = JSON.parse(process.env.MIGRATIONS!)
  const [state] = await prisma().$queryRaw<{ isReadOnly: boolean; pending: string[] }[]>`
    SELECT current_setting('transaction_read_only')::bool AS "isReadOnly",
      ARRAY(SELECT unnest(${migrations}::text[]) EXCEPT SELECT migration_name FROM _prisma_migrations
            WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1) AS pending`

  return state!
}
