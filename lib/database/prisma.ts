import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../prisma/client/client'
import { databasePool } from './pool'
import { statementName } from './sql'

// Kept across the module reloads of development.
const kept = globalThis as typeof globalThis & { prismaClient?: PrismaClient }

/** Prisma, for what neither the database's clock nor one statement decides (see sql.ts). Connects on first use, because `next build` loads every module without a database. */
export function prisma(): PrismaClient {
  kept.prismaClient ??= connect()
  return kept.prismaClient
}

function connect(): PrismaClient {
  const adapter = new PrismaPg(databasePool(), { statementNameGenerator: ({ sql }) => statementName(sql) })
  return new PrismaClient({ adapter, errorFormat: 'minimal', log: [] })
}
