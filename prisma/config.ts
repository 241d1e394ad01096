import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma-cli/config'

// `prisma generate` would download an engine that it does not use, unless there is a program for it.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

// Only for `generate`. The other commands of the CLI need that engine.
export default defineConfig({ schema: fileURLToPath(new URL('schema.prisma', import.meta.url)) })
