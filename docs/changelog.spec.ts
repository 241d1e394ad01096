import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from '../bin/dev/local'

const changelog = readFileSync(`${project}CHANGELOG.md`, 'utf8')
const [, ...sections] = changelog.split(/^## /m)
const versions = sections.map((section) => ({
  name: section.match(/^\[(.+?)\]/)?.[1],
  migrations: [...section.matchAll(/^Last migration: `(\w+)`\.$/gm)].map(
    ([, name]) => name!,
  ),
}))

test('CHANGELOG.md names for each version its last migration', () => {
  const existing = readdirSync(`${project}prisma/migrations`)
    .filter((name) => /^\d{14}_/.test(name))
    .sort()

  for (const { name, migrations } of versions) expect(migrations, name).toHaveLength(1)
  const last = versions.map(({ migrations }) => migrations[0]!)
  expect(last[0], 'of the unreleased version').toBe(existing.at(-1))
  expect(existing).toEqual(expect.arrayContaining(last))
  expect(last.toSorted().toReversed(), 'newer versions have later ones').toEqual(last)
})

test('CHANGELOG.md has the version of package.json', () => {
  const { version } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))
  expect(versions.map(({ name }) => name)).toEqual(['Unreleased', version, '0.1.0'])
})
