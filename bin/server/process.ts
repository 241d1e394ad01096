import { readFileSync } from 'node:fs'
import nextEnv from '@next/env'

/**
 * Prepares this process for Next.js: sets the environment, reads the env files of the
 * current folder, and changes to `dir`, the folder of the app.
 */
export function prepareProcess(dir: string, dev: boolean): void {
  Object.assign(process.env, {
    NODE_ENV: dev ? 'development' : 'production',
    NEXT_TELEMETRY_DISABLED: '1',
  })

  process.env.VERCEL = '' // An env file from Vercel sets VERCEL. Any client could then forge Vercel's headers.
  nextEnv.loadEnvConfig(process.cwd(), dev, { info: () => {}, error: console.error })
  process.chdir(dir)

  // If the reader of the log has ended, logging without a listener would throw an
  // uncaught exception.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

  if (!dev) process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = readBuiltConfig()
}

/** Returns the values of next.config.mjs at the time of the build, as JSON. */
function readBuiltConfig(): string {
  const built = JSON.parse(readFileSync('.next/required-server-files.json', 'utf8'))
  return JSON.stringify(built.config)
}
