import { prisma } from './prisma'

/** Returns whether the database is migrated and writable. Throws if it is unreachable. */
export async function isUsable(): Promise<boolean> {
  const [database] = await prisma().$queryRaw<{ usable: boolean }[]>`
    SELECT to_regclass('exchange_codes') IS NOT NULL AND NOT current_setting('transaction_read_only')::bool AS usable`
  return database!.usable
}
