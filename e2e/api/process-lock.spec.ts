import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { project } from '../../bin/local'
import { isAlive, ownEntryName, underLock } from '../../bin/process-lock'
import { expect, test } from '../support/fixtures'

test('a lock whose owner was killed is broken, and one of a living owner is not', async () => {
  const lock = test.info().outputPath('lock')
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--import', 'tsx', '--input-type=module', '--eval'],
    `console.log((await import('${project}bin/process-lock.ts')).ownEntryName())`,
  ])
  const dead = stdout.trim()
  expect([isAlive(dead), isAlive(ownEntryName())]).toEqual([false, true])
  writeFileSync(lock, dead)
  expect(await underLock(lock, async () => isAlive(readFileSync(lock, 'utf8')))).toBe(true)
})

test('20 processes that count in a file, each under the lock, lose no count', async () => {
  test.setTimeout(180_000)
  const [lock, counter] = [test.info().outputPath('lock'), test.info().outputPath('counter')]
  writeFileSync(counter, '0')
  const script = `
    const { readFileSync, writeFileSync } = await import('node:fs')
    const { underLock } = await import('${project}bin/process-lock.ts')
    await underLock('${lock}', async () => {
      const count = Number(readFileSync('${counter}', 'utf8'))
      await new Promise((resolve) => setTimeout(resolve, 20))
      writeFileSync('${counter}', String(count + 1))
    })`
  const count = () =>
    promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script])
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 5 }, count))
  expect(readFileSync(counter, 'utf8')).toBe('20')
})
