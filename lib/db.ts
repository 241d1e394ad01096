import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../prisma/client/client'
import { databasePool } from './database-pool'

// kept across the module reloads of development
const kept = globalThis as typeof globalThis & { prismaClient?: PrismaClient }

/** The database. Made on first use, because `next build` loads every module without one. */
export function db(): PrismaClient {
  kept.prismaClient ??= connect()
  return kept.prismaClient
}

function connect(): PrismaClient {
  // Named, so that a connection plans each of our few statements once. Their texts are constants of this program.
  const names = new Map<string, string>()
  const statementName = ({ sql }: { sql: string }) => {
    const name = names.get(sql) ?? `s${names.size}`
    names.set(sql, name)
    return name
  }
  const adapter = new PrismaPg(databasePool(), { statementNameGenerator: statementName })
  return new PrismaClient({ adapter, errorFormat: 'minimal', log: [] })
}
