import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma-cli/config'

// Without this setting, `prisma generate` would download an engine that it does not use.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

// Use this file only for `generate`. The other commands of the CLI need the engine.
export default defineConfig({
  schema: fileURLToPath(new URL('schema.prisma', import.meta.url)),
})
