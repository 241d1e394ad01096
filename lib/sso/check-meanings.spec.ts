import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from '../../bin/dev/local'
import { explainCheck } from './check-meanings'

// They are not about a response, or a test can't cause them.
const ofOthers =
  'connection connection_kind again clock unsolicited_loop saml_logout certificate_expires identity_unlinked test_link'.split(
    ' ',
  )

test('a test explains each check of docs/sso.md that a response can fail', () => {
  const [, table] = readFileSync(`${project}docs/sso.md`, 'utf8').split(
    '| `check` | Meaning |\n|---|---|\n',
  )
  const checks = table!.split('\n').flatMap((line) => {
    const [, first = ''] = line.split('|')
    return [...first.matchAll(/`(\w+)`/g)].map(([, check]) => check!)
  })
  expect(checks.length).toBeGreaterThan(80)

  for (const check of checks) {
    const isOfOthers = check.startsWith('logout_') || ofOthers.includes(check)
    expect.soft(explainCheck(check) === null, check).toBe(isOfOthers)
  }
})
