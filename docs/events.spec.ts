import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from '../bin/dev/local'
import { files } from '../e2e/support/documents/documents'
import {
  accountEvents,
  actors,
  eventFields,
  eventKinds,
  minEventDays,
} from '../lib/contract/events'

const operate = readFileSync(`${project}docs/operate.md`, 'utf8')
const migration = readFileSync(
  `${project}prisma/migrations/20261201100000_events/migration.sql`,
  'utf8',
)

for (const [heading, table] of Object.entries({
  'The fields': eventFields,
  'The actors': actors,
  'The kinds': eventKinds,
}))
  test(`docs/operate.md has the table “${heading}” of the contract`, () => {
    const [, section] = operate.split(`\n### ${heading}\n`)
    const rows = section!.split('\n### ')[0]!.matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm)
    expect(Object.fromEntries([...rows].map(([, name, text]) => [name, text]))).toEqual(
      table,
    )
  })

test('the code records each kind, and no other', () => {
  const product = files.filter((path) =>
    /^(lib|app|bin)\/(?!.*\.spec).*\.tsx?$/.test(path),
  )
  const outside = product.filter((path) => path !== 'lib/contract/events.ts')
  const text = outside.map((path) => readFileSync(project + path, 'utf8')).join('\n')
  for (const kind of Object.keys(eventKinds)) expect(text, kind).toContain(`'${kind}'`)
})

test('the database knows the actors, and keeps events as long as the contract says', () => {
  const [, known] = migration.match(/"actor" IN \(([^)]+)\)/)!
  expect(known!.split(', ').map((name) => name.slice(1, -1))).toEqual(Object.keys(actors))
  expect(migration).toContain(`greatest(keep_days, ${minEventDays})`)
})

test('users see only events that are about them', () => {
  expect(
    accountEvents.filter((kind) => /^(client|connection|widget)_/.test(kind)),
  ).toEqual([])
})
