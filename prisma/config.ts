import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import { defineConfig } from 'prisma-cli/config'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

nextEnv.loadEnvConfig(here('..'), undefined, { info: () => {}, error: console.error })
// The CLI would download an engine. This one comes from npm.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= here('schema-engine.mjs')

// Migrations do not work through a pooler in transaction mode, or with the role of the running
// service.
const url = process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL

export default defineConfig({
  schema: here('schema.prisma'),
  migrations: { path: here('migrations') },
  ...(url ? { datasource: { url } } : {}),
})
