import fc from 'fast-check'
import { filter as matcher, parse } from 'scim2-parse-filter'
import { expect, test } from 'vitest'
import { foldCase } from '../contract/email-address'
import { ScimError } from './error'
import { nameAttribute } from './find'
import { parseFilter } from './path'

const core = 'urn:ietf:params:scim:schemas:core:2.0:User'

test('reads every attribute of the filters that directories send', () => {
  const filters: Record<string, string> = {
    'userName eq "ada@example.com"': 'userName',
    'USERNAME EQ "ada@example.com"': 'userName',
    [`${core}:userName eq "ada"`]: 'userName',
    'externalId eq "00u1"': 'externalId',
    'id eq "x"': 'id',
    'emails.value eq "ada@example.com"': 'email',
    'emails[type eq "work"].value eq "ada@example.com"': 'email',
    'Emails[Type eq "Work"].Value eq "ada@example.com"': 'email',
  }
  for (const [filter, name] of Object.entries(filters))
    expect(
      parseFilter(filter).map(({ path }) => nameAttribute(path)),
      filter,
    ).toEqual([name])
})

test('has no attribute for other paths', () => {
  const filters = [
    'title eq "x"',
    'emails eq "x"',
    'emails.type eq "work"',
    'emails[type eq "home"].value eq "x"',
    'emails[type eq "work" and primary eq true].value eq "x"',
    'userName.value eq "x"',
    'constructor eq "x"',
    `${core.replace('core', 'extension:enterprise')}:userName eq "x"`,
  ]
  for (const filter of filters)
    expect(
      parseFilter(filter).map(({ path }) => nameAttribute(path)),
      filter,
    ).toEqual([null])
})

test('rejects every other filter', () => {
  const filters = [
    ...['', ' ', 'userName', 'userName pr', 'userName co "x"', 'userName ne "x"'],
    ...['userName eq', 'userName eq x', 'userName eq "x', "userName eq 'x'"],
    ...['not (userName eq "x")', '(userName eq "x")', 'userName eq "x" or id eq "y"'],
    ...['userName eq "x" and', 'and userName eq "x"', 'userName eq "x"and id eq "y"'],
    ...['userName eq "x" id eq "y"', 'userName eq "\\x"', 'a.b.c eq "x"'],
    `userName eq "${'x'.repeat(2_000)}"`,
  ]
  for (const filter of filters)
    expect(() => parseFilter(filter), filter).toThrow(ScimError)
})

test('reads a long filter in linear time', () => {
  const started = performance.now()
  for (const part of ['a', ':', '[', ']', '"', '\\', ' ', 'a.', 'urn:', 'a[b eq "'])
    for (const text of [part.repeat(1_999), `urn:${part.repeat(1_900)}`])
      expect(() => parseFilter(text.slice(0, 2_000))).toThrow(ScimError)
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('reads the escapes of JSON', () => {
  const [condition] = parseFilter(String.raw`userName eq "a\\b \"c\" \u017e"`)
  expect(condition!.value).toBe(String.raw`a\b "c" ž`)
})

// without a backslash, which the library does not read as JSON does
const value = fc.constantFrom(
  ...['ada', 'bob', 'ada@example.com', 'bob@example.com', 'x', 'a "b" and c', 'ž'],
)
const names = ['userName', 'externalId', 'id', 'emails.value', 'work'] as const
const condition = fc.tuple(fc.constantFrom(...names), value)
const users = fc.array(
  fc.record({ userName: value, externalId: value, id: value, email: value }),
  { maxLength: 6 },
)

test('2,000 random filters match the same users as scim2-parse-filter', () => {
  fc.assert(
    fc.property(
      fc.array(condition, { minLength: 1, maxLength: 3 }),
      users,
      (conditions, given) => {
        // the library has no path after a filter, so it gets the value in the filter
        const texts = conditions.map(([name, text]) => {
          const literal = JSON.stringify(text)
          if (name !== 'work') return Array(2).fill(`${name} eq ${literal}`)
          return [
            `emails[type eq "work"].value eq ${literal}`,
            `emails[type eq "work" and value eq ${literal}]`,
          ]
        })
        const [ours, theirs] = [0, 1].map((index) =>
          texts.map((each) => each[index]).join(' and '),
        ) as [string, string]

        const resources = given.map(({ email, ...rest }) => ({
          ...rest,
          emails: [{ value: email, type: 'work', primary: true }],
        }))
        const parsed = parseFilter(ours)
        const matching = given.map((user) =>
          parsed.every(({ path, value: wanted }) => {
            const own = user[nameAttribute(path)!]
            return foldCase(own) === foldCase(String(wanted))
          }),
        )
        expect(matching).toEqual(resources.map(matcher(parse(theirs))))
      },
    ),
    { numRuns: 2_000 },
  )
})
