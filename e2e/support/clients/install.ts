import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { project } from '../../../bin/dev/local'

const source = `${project}e2e/clients/`
/** Where the packages are. Each run of the tests empties e2e/results. */
export const clientsFolder = `${project}.data/test-clients/`

/** Installs the packages of e2e/clients, unless the same ones are installed. */
export function installClients(): void {
  const wanted = readFileSync(`${source}package-lock.json`, 'utf8')
  const installed = `${clientsFolder}installed-lock.json`
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return

  rmSync(clientsFolder, { recursive: true, force: true })
  cpSync(source, clientsFolder, { recursive: true })
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: clientsFolder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  cpSync(`${clientsFolder}package-lock.json`, installed)
}
