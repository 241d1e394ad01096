import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/client/client'
import { databasePool } from './pool'
import { statementName } from './sql'

// On globalThis, because each module reload in development would create another client.
const globals = globalThis as typeof globalThis & { prismaClient?: PrismaClient }

/**
 * Returns the Prisma client, for queries that need neither the database's clock nor a single atomic
 * statement (see sql.ts). Connects on first use, because `next build` loads every module without a
 * database.
 */
export function prisma(): PrismaClient {
  globals.prismaClient ??= connect()
  return globals.prismaClient
}

function connect(): PrismaClient {
  const adapter = new PrismaPg(databasePool(), { statementNameGenerator: ({ sql }) => statementName(sql) })
  return new PrismaClient({ adapter, errorFormat: 'minimal', log: [] })
}
