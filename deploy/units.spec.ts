import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from '../bin/dev/local'

const read = (unit: string) => readFileSync(`${project}deploy/${unit}`, 'utf8')

/** The lines from the comment about rights to the end of the section. */
const readRights = (unit: string) => read(unit).match(/^# Without rights [^[]*$/m)?.[0]

test('the clean-up has the settings, the folder and the restrictions of the server', () => {
  const server = read('login@.service')
  const cleanUp = read('login-clean-up.service')
  for (const name of ['DynamicUser', 'WorkingDirectory', 'EnvironmentFile']) {
    const [line] = server.match(new RegExp(`^${name}=.*$`, 'm'))!
    expect(cleanUp).toContain(`${line}\n`)
  }

  const rights = readRights('login@.service')!.trim()
  expect(rights.split('\n').length).toBeGreaterThan(18)
  expect(readRights('login-clean-up.service')!.trim()).toBe(rights)
})

test('the timer starts the clean-up daily', () => {
  expect(read('login-clean-up.timer')).toMatch(/^OnCalendar=daily$/m)
  expect(read('login-clean-up.service')).toMatch(
    /^ExecStart=\/usr\/bin\/node bin\/clean-up\.js$/m,
  )
})
