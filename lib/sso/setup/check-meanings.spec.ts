import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from '../../../bin/dev/local'
import { explainToHolder, showsWorking } from './check-meanings'

const docs = readFileSync(`${project}docs/sso.md`, 'utf8')
const [, table] = docs.split('| `check` | Meaning |\n|---|---|\n')
const checks = table!.split('\n').flatMap((line) => {
  const [, first = ''] = line.split('|')
  return [...first.matchAll(/`(\w+)`/g)].map(([, check]) => check!)
})

test('each check has words for the holder of a setup link, without our commands', () => {
  expect(checks.length).toBeGreaterThan(80)
  for (const check of checks) {
    const text = explainToHolder(check)
    expect.soft(text, check).not.toMatch(/npm run|--[a-z]|[A-Z]+_[A-Z]+|\boperator\b/)
    expect.soft(text, check).toMatch(/[.:]/)
  }
})

test('a test shows a working connection only if the provider has nothing to correct', () => {
  expect(checks.filter(showsWorking).sort()).toEqual([
    'identity_not_provisioned',
    'identity_second_factor',
  ])
})
