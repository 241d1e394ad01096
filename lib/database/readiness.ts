import { errorCode, poolerRemedies } from '../log/error-code'
import { log } from '../log/log'
import { prisma } from './prisma'

const remedies: Record<string, string> = {
  ...poolerRemedies,
  '42P01': 'the database was never migrated: npm run migrate',
  '42501': 'the role may not read _prisma_migrations: run part 3 of deploy/database.sql',
}

/**
 * Whether the database is writable and migrated. If not, logs what to do. Throws if the
 * database is unreachable.
 */
export async function isUsable(): Promise<boolean> {
  // of this version (next.config.mjs)
  const migrations: string[] = JSON.parse(process.env.MIGRATIONS!)
  try {
    const [database] = await prisma().$queryRaw<
      { isReadOnly: boolean; pending: string[] }[]
    >`
      SELECT current_setting('transaction_read_only')::bool AS "isReadOnly",
        ARRAY(SELECT unnest(${migrations}::text[]) EXCEPT SELECT migration_name FROM _prisma_migrations
              WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1) AS pending`

    const { isReadOnly, pending } = database!
    if (isReadOnly) log.error('the database is read-only')
    if (pending.length > 0)
      log.error({ pending }, 'migrations are pending: npm run migrate')

    return !isReadOnly && pending.length === 0
  } catch (error) {
    const remedy = remedies[errorCode(error as Error) ?? '']
    if (!remedy) throw error
    log.error(remedy)
    return false
  }
}
