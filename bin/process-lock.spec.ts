import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { isAlive, ownEntryName, underLock } from './process-lock'

const folder = mkdtempSync(join(tmpdir(), 'process-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))

const imported = `await import('${new URL('process-lock.ts', import.meta.url)}')`
const run = (script: string) =>
  promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script])

test('a lock whose owner was killed is broken, and one of a living owner is not', async () => {
  const lock = join(folder, 'lock')
  const { stdout } = await run(`console.log((${imported}).ownEntryName())`)
  const dead = stdout.trim()
  expect([isAlive(dead), isAlive(ownEntryName())]).toEqual([false, true])
  writeFileSync(lock, dead)
  expect(await underLock(lock, async () => isAlive(readFileSync(lock, 'utf8')))).toBe(true)
})

test('3 processes that count in a file, each under the lock, lose no count', async () => {
  const [lock, counter] = [join(folder, 'counter-lock'), join(folder, 'counter')]
  writeFileSync(counter, '0')
  const script = `
    const { readFileSync, writeFileSync } = await import('node:fs')
    const { underLock } = ${imported}
    for (let index = 0; index < 4; index++) {
      await underLock('${lock}', async () => {
        const count = Number(readFileSync('${counter}', 'utf8'))
        await new Promise((resolve) => setTimeout(resolve, 20))
        writeFileSync('${counter}', String(count + 1))
      })
    }`
  await Promise.all(Array.from({ length: 3 }, () => run(script)))
  expect(readFileSync(counter, 'utf8')).toBe('12')
})
