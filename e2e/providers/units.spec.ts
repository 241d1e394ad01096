import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { project } from '../../bin/dev/local'
import { expect, test } from '../support/fixtures'
import { temporaryFolder } from '../support/servers/program'

// Tests the units in deploy/ with the tools of systemd, without starting them.

const run = promisify(execFile)
const services = ['login@.service', 'login-clean-up.service']
const read = (unit: string) => readFileSync(`${project}deploy/${unit}`, 'utf8')

/** What the units are allowed at most, from 0 to 100. Without directives, it is 84. */
const maxExposure = 13

/** Rates units that are changed by `change`. Rejects if one is rated worse. */
async function rate(change = (text: string) => text) {
  const folder = temporaryFolder('units')
  for (const unit of services) writeFileSync(`${folder.path}/${unit}`, change(read(unit)))
  const rating = services.map((unit) =>
    run('systemd-analyze', [
      'security',
      '--offline=true',
      '--no-pager',
      `--threshold=${maxExposure}`,
      `${folder.path}/${unit}`,
    ]),
  )
  return Promise.allSettled(rating).finally(folder.remove)
}

test('systemd rates the units as hardly exposed, unless a directive is missing', async () => {
  for (const rated of await rate()) expect(rated).toMatchObject({ status: 'fulfilled' })

  const directives = [...read(services[0]!).matchAll(/^(\w+)=(?:yes|)$/gm)].map(String)
  expect(directives.length).toBeGreaterThan(14)
  for (const directive of ['ProtectProc=invisible', 'SystemCallFilter=@system-service']) {
    const weaker = await rate((text) => text.replace(`${directive}\n`, ''))
    for (const rated of weaker) expect(rated.status, directive).toBe('rejected')
  }
})

test('systemd accepts the units', async () => {
  // in a root of its own, where the programs of the units exist
  const root = temporaryFolder('root')
  const units = `${root.path}/etc/systemd/system`
  for (const path of [units, `${root.path}/usr/bin`]) mkdirSync(path, { recursive: true })
  writeFileSync(`${root.path}/usr/bin/node`, '#!/bin/sh\n', { mode: 0o755 })
  for (const unit of [...services, 'login-clean-up.timer'])
    copyFileSync(`${project}deploy/${unit}`, `${units}/${unit}`)
  // the units of systemd that ours name
  for (const name of ['network-online', 'multi-user', 'timers', 'basic', 'sysinit'])
    writeFileSync(`${units}/${name}.target`, '[Unit]\nDescription=x\n')

  const verify = () =>
    run('systemd-analyze', [
      'verify',
      '--man=no',
      '--recursive-errors=one',
      `--root=${root.path}`,
      'login@3000.service',
      'login-clean-up.service',
      'login-clean-up.timer',
    ])
  try {
    expect((await verify()).stderr).toBe('')
    const wrong = read(services[1]!).replace('PrivateTmp=yes', 'PrivateTemp=yes')
    writeFileSync(`${units}/${services[1]}`, wrong)
    expect((await verify().catch((error) => error)).stderr).toContain('PrivateTemp')
  } finally {
    root.remove()
  }
})
