import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromium } from 'playwright'

const browserNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const macBrowser = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

/**
 * The path of Chromium: CHROMIUM_PATH, the system's or Playwright's. Installs it if possible, else
 * throws with the command to install it.
 */
export function findChromium(): string {
  const found = () =>
    [process.env.CHROMIUM_PATH, ...browserNames.map(findProgram), macBrowser, chromium.executablePath()].find(
      (path) => path && existsSync(path),
    )
  if (!found()) install('chromium')
  return found() ?? missing('Chromium', 'apt-get install chromium', 'npx playwright install --with-deps chromium')
}

/**
 * The path of redis-server. Installs it if possible, else throws with the command to install it.
 */
export function findRedisServer(): string {
  if (!findProgram('redis-server')) install('redis-server')
  return findProgram('redis-server') ?? missing('redis-server', 'apt-get install redis-server', 'brew install redis')
}

function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find((path) => existsSync(path))
}

/** Installs a package on Debian and its derivatives, as root. Does nothing elsewhere. */
function install(debianPackage: string): void {
  if (process.getuid?.() !== 0 || !findProgram('apt-get')) return
  console.log(`Installing ${debianPackage} …`)
  const options = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  execFileSync('apt-get', ['update'], options)
  execFileSync('apt-get', ['install', '-y', '--no-install-recommends', debianPackage], options)
}

function missing(what: string, ...commands: string[]): never {
  throw new Error(
    `The tests need ${what}. Install it with one of:\n${commands.map((command) => `  ${command}`).join('\n')}`,
  )
}
