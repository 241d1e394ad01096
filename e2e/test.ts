// `npm test`: runs the unit tests while the app is built, and then the API and page
// tests.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { build } from './support/servers/build'

/** Runs a program of npm's PATH, and returns its exit code. */
async function run(program: string, ...parameters: string[]): Promise<number> {
  const [code] = await once(spawn(program, parameters, { stdio: 'inherit' }), 'exit')
  return code ?? 1
}

const [failed] = await Promise.all([
  run('vitest', 'run'),
  process.env.NO_BUILD ? null : build(),
])
if (failed) process.exit(failed)
process.env.NO_BUILD = '1'
const config = [
  '--config',
  'e2e/playwright.config.ts',
  '--project',
  'api',
  '--project',
  'pages',
]
process.exitCode = await run('playwright', 'test', ...config, ...process.argv.slice(2))
