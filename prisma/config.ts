import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import { defineConfig } from 'prisma-cli/config'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

nextEnv.loadEnvConfig(here('..'), undefined, { info: () => {}, error: console.error })
// No engine is downloaded: this one comes from npm.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= here('schema-engine.mjs')

// A pooler in transaction mode can't migrate, nor can a role that only serves.
const url = process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL

export default defineConfig({
  schema: here('schema.prisma'),
  migrations: { path: here('migrations') },
  ...(url ? { datasource: { url } } : {}),
})
