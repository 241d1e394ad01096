import fc from 'fast-check'
import { type ScimPatchOperation, scimPatch } from 'scim-patch'
import { expect, test } from 'vitest'
import { chooseAddress } from './address'
import { type Attributes, emptyAttributes, readPatch, readUser } from './attributes'
import { ScimError } from './error'

const core = 'urn:ietf:params:scim:schemas:core:2.0:User'
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const domains = ['example.com', 'example.org']

const stored = (): Attributes => ({
  ...emptyAttributes(),
  userName: 'ada',
  externalId: '00u1',
  givenName: 'Ada',
  familyName: 'Byron',
  displayName: 'Ada Byron',
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
  active: true,
})

/** Applies the operations of a PATCH to `stored`. */
function patch(...operations: object[]): Attributes {
  const attributes = stored()
  for (const change of readPatch({ Operations: operations })) change(attributes)

  return attributes
}

/** Returns the error that `run` throws. */
function errorOf(run: () => unknown): Pick<ScimError, 'status' | 'scimType'> | null {
  try {
    run()
    return null
  } catch (error) {
    if (!(error instanceof ScimError)) throw error
    return { status: error.status, scimType: error.scimType! }
  }
}

const activeForms: [unknown, boolean][] = [
  [true, true],
  [false, false],
  ['True', true],
  ['False', false],
  ['fAlSe', false],
]
for (const [value, expected] of activeForms)
  test(`reads active ${JSON.stringify(value)} in every place`, () => {
    const inPlaces = [
      patch({ op: 'Replace', path: 'active', value }),
      patch({ op: 'add', path: 'ACTIVE', value }),
      patch({ op: 'replace', path: `${core}:active`, value }),
      patch({ op: 'replace', value: { active: value } }),
      patch({ op: 'replace', value: { [`${core}:Active`]: value } }),
      patch({ op: 'replace', value: { [core]: { active: value } } }),
      readUser({ userName: 'ada', Active: value }),
    ]
    expect(inPlaces.map(({ active }) => active)).toEqual(inPlaces.map(() => expected))
  })

test('rejects an active that is neither true nor false, and its removal', () => {
  const values = [null, 0, 1, '', 'no', 'false ', [], ['false'], {}, [{ value: 'False' }]]
  for (const value of values) {
    const runs = [
      () => patch({ op: 'replace', path: 'active', value }),
      () => patch({ op: 'replace', value: { active: value } }),
      () => readUser({ userName: 'ada', active: value }),
    ]
    for (const run of runs)
      expect(errorOf(run), JSON.stringify(value)).toEqual({
        status: 400,
        scimType: 'invalidValue',
      })
  }

  expect(errorOf(() => patch({ op: 'remove', path: 'active' }))).toMatchObject({
    status: 400,
  })
})

test('active is null if the body does not have it', () => {
  expect(readUser({ userName: 'ada' }).active).toBeNull()
})

test('adds an address whose filter matches nothing, as Entra ID demands', () => {
  const value = 'ada@example.org'
  const path = 'emails[type eq "home"].value'
  for (const op of ['Add', 'Replace'])
    expect(patch({ op, path, value }).emails[1]).toEqual({
      value,
      type: 'home',
      primary: false,
    })
})

test('a new primary address replaces the former one', () => {
  const value = [{ value: 'ada@example.org', primary: 'True' }]
  const { emails } = patch({ op: 'add', path: 'emails', value })
  expect(emails.map(({ primary }) => primary)).toEqual([false, true])
})

const ignored = [
  { op: 'Add', path: 'title', value: 'Countess' },
  { op: 'Add', path: 'constructor', value: 'x' },
  { op: 'replace', path: 'phoneNumbers[type eq "mobile"].value', value: '1' },
  { op: 'replace', path: `${enterprise}:department`, value: 'x' },
  { op: 'remove', path: 'addresses[type eq "work" and primary eq true]' },
  { op: 'replace', path: 'emails[type eq "home"].display', value: 'x' },
  { op: 'replace', value: { nickName: 'x', [enterprise]: { department: 'x' } } },
]
for (const operation of ignored)
  test(`ignores ${JSON.stringify(operation)}`, () => {
    expect(patch(operation)).toEqual(stored())
  })

const malformed: Record<string, object[]> = {
  invalidPath: [
    { op: 'replace', path: 'emails[type eq "work".value', value: 'x' },
    { op: 'replace', path: 'emails[]', value: 'x' },
    { op: 'replace', path: 'emails[type ne "work"].value', value: 'x' },
    { op: 'replace', path: 'title or name', value: 'x' },
    { op: 'replace', path: 'userName[type eq "x"]', value: 'x' },
    { op: 'replace', path: `a${'.b'.repeat(5_000)}`, value: 'x' },
    { op: 'replace', value: { 'a b': 'x' } },
  ],
  invalidSyntax: [
    { op: 'set', path: 'active', value: false },
    { path: 'active', value: false },
    { op: 'replace', path: 7, value: false },
    { op: 'replace', value: 'active' },
    { op: 'replace' },
  ],
  invalidValue: [
    { op: 'replace', path: 'displayName', value: 7 },
    { op: 'replace', path: 'displayName', value: 'x'.repeat(501) },
    { op: 'replace', path: 'displayName', value: 'a\0b' },
    { op: 'replace', path: 'displayName', value: 'a\uD800' },
    { op: 'replace', path: 'userName', value: '' },
    { op: 'replace', path: 'emails', value: 7 },
    { op: 'add', path: 'emails', value: [{ value: 'x', primary: 'maybe' }] },
  ],
  mutability: [{ op: 'remove', path: 'userName' }],
  noTarget: [{ op: 'remove' }],
}
for (const [scimType, operations] of Object.entries(malformed))
  test(`rejects malformed operations with ${scimType}`, () => {
    for (const operation of operations)
      expect(
        errorOf(() => patch(operation)),
        JSON.stringify(operation),
      ).toEqual({
        status: 400,
        scimType,
      })
  })

test('rejects a body that is not a message', () => {
  const bodies = [null, [], 7, 'x', {}, { Operations: [] }, { Operations: [7] }]
  for (const body of bodies)
    expect(
      errorOf(() => readPatch(body)),
      JSON.stringify(body),
    ).toMatchObject({
      status: 400,
    })
  for (const body of [null, [], {}, { userName: '' }, { userName: 7 }])
    expect(
      errorOf(() => readUser(body)),
      JSON.stringify(body),
    ).toMatchObject({
      status: 400,
    })
})

// Below, another implementation reads the same operations.

const address = fc.constantFrom(
  ...['ada@example.com', 'ada@example.org', 'ada@elsewhere.example', 'ada'],
)
const name = fc.constantFrom('Ada', 'Augusta', 'O’Neil', 'Ada "A." Byron', 'Žofie')
const type = fc.constantFrom('work', 'home', 'other')
const setting = fc.constantFrom('add', 'replace', 'Add', 'Replace')
const email = fc.record({ value: address, type })
/** The two libraries disagree about the primary address of a list that is added. */
const emails = fc.oneof(
  fc.record({
    op: fc.constantFrom('replace', 'Replace'),
    value: fc.array(fc.record({ value: address, type, primary: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({
    op: fc.constantFrom('add', 'Add'),
    value: fc.array(email, { minLength: 1, maxLength: 2 }),
  }),
)
const atPath = fc.oneof(
  fc.record({
    path: fc.constantFrom(
      ...['userName', 'externalId', 'displayName', 'name.givenName', 'name.familyName'],
      ...['title', 'nickName', `${core}:displayName`, `${core}:name.givenName`],
      `${enterprise}:department`,
    ),
    value: fc.oneof(name, address),
  }),
  fc.record({ path: fc.constant('active'), value: fc.boolean() }),
  fc.record({
    path: fc.constant('name'),
    value: fc.record({ givenName: name, familyName: name }, { requiredKeys: [] }),
  }),
  fc.record({
    path: type.map((each) => `emails[type eq "${each}"].value`),
    value: address,
  }),
)
const withoutPath = fc.record(
  {
    userName: address,
    externalId: name,
    displayName: name,
    active: fc.boolean(),
    'name.givenName': name,
    [`${core}:name.familyName`]: name,
    title: name,
  },
  { requiredKeys: [] },
)
const operation = fc.oneof(
  fc.tuple(setting, atPath).map(([op, rest]) => ({ op, ...rest })),
  emails.map((rest) => ({ ...rest, path: 'emails' })),
  fc.record({ op: setting, value: withoutPath }),
  fc.record({
    op: fc.constantFrom('remove', 'Remove'),
    path: fc.constantFrom(
      ...['externalId', 'displayName', 'name', 'name.givenName', 'title'],
      'emails[type eq "home"]',
    ),
  }),
)
const operations = fc.array(operation, { minLength: 1, maxLength: 6 })

/** What scim-patch makes of the same operations. */
function patchElsewhere(given: object[]): unknown {
  const { givenName, familyName, ...rest } = stored()
  let user = { schemas: [core], ...rest, name: { givenName, familyName } }
  for (const each of structuredClone(given) as ScimPatchOperation[]) {
    user.emails ??= [] // deleted with the last one; the library then rejects a filter
    user = scimPatch(user as never, [each])
  }

  const { emails = [], name } = user as Partial<typeof user>
  return summarize({
    ...user,
    emails,
    givenName: name?.givenName ?? null,
    familyName: name?.familyName ?? null,
  })
}

/** The kept attributes. */
function summarize(attributes: Attributes) {
  const { userName, externalId, givenName, familyName, displayName, active } = attributes
  return {
    ...{ userName, givenName, familyName, active },
    externalId: externalId ?? null,
    displayName: displayName ?? null,
    address: chooseAddress(attributes, domains),
  }
}

test('2,000 random PATCHes have the same result with scim-patch', () => {
  fc.assert(
    fc.property(operations, (given) => {
      expect(summarize(patch(...given))).toEqual(patchElsewhere(given))
    }),
    { numRuns: 2_000 },
  )
})

test('2,000 random PATCHes have the same result in any letter case', () => {
  const inAnyCase = (text: string, upper: boolean[]) =>
    text.replaceAll(/"[^"]*"|[a-z]/gi, (part, at) =>
      part.startsWith('"') || !upper[at % upper.length]
        ? part
        : part === part.toLowerCase()
          ? part.toUpperCase()
          : part.toLowerCase(),
    )
  const cases = fc.array(fc.boolean(), { minLength: 5, maxLength: 40 })

  fc.assert(
    fc.property(operations, cases, (given, upper) => {
      const renamed = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(renamed)
        if (typeof value !== 'object' || value === null) return value
        return Object.fromEntries(
          Object.entries(value).map(([key, each]) => [
            inAnyCase(key, upper),
            renamed(each),
          ]),
        )
      }
      const changed = given.map((each) => ({
        ...(renamed(each) as object),
        ...Object.fromEntries(
          Object.entries(each)
            .filter(([key]) => key === 'op' || key === 'path')
            .map(([key, text]) => [
              inAnyCase(key, upper),
              inAnyCase(String(text), upper),
            ]),
        ),
      }))
      expect(patch(...changed)).toEqual(patch(...given))
    }),
    { numRuns: 2_000 },
  )
})
