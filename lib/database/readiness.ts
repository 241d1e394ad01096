import { sql } from './sql'

/** Whether the database responds, has our tables, and can be written to. */
export async function isUsable(): Promise<boolean> {
  const [database] = await sql<{ usable: boolean }>`
    SELECT to_regclass('exchange_codes') IS NOT NULL AND NOT current_setting('transaction_read_only')::bool AS usable`
  return database!.usable
}
