import { randomUUID } from 'node:crypto'
import { generateKeyPair } from 'jose'
import pg from 'pg'
import { foldCase } from '../../lib/contract/email-address'
import { claimAttempt, startAttempt } from '../../lib/sso/attempt'
import { issueIdentityCode } from '../../lib/sso/code'
import { findConnection } from '../../lib/sso/connection'
import { findOrLinkUser } from '../../lib/sso/identity'
import {
  linkUser,
  listConnections,
  removeConnection,
  unlinkUser,
} from '../../lib/sso/manage/connections'
import { listRejected, recordRejected } from '../../lib/sso/rejected'
import { SignInRejected } from '../../lib/sso/rejection'
import { deleteUser } from '../../lib/user/user'
import { kindNames, type Sso, testWithSso } from '../support/browsers/sso-kinds'
import { errorOf, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { addTestConnection, connect } from '../support/databases/connection'
import { expect, type Sql, test } from '../support/fixtures'
import { signed } from '../support/providers/oidc-provider'
import { keepSecret } from '../support/secrets'

// The rejected accounts that operators see.

let { server, provider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, kinds } = sso))

const reload = async (slug: string) => (await listConnections(slug))[0]!
const rejected = async (slug: string, email?: string) =>
  listRejected((await reload(slug)).id, email)
/** Signs in as the person of the provider, and returns the error or null. */
const signIn = async (slug: string) => errorOf(await new Visitor(server.url).signIn(slug))
const addUser = async (sql: Sql, email: string) =>
  (
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id`,
      [email],
    )
  )[0]!.id as string

const newRejection = (subject: string, account?: string) => {
  const rejection = new SignInRejected('email_domain', 'no_access')
  rejection.identity = { issuer: 'https://idp.example.com', subject }
  rejection.account = account
  return rejection
}

for (const name of kindNames)
  test(`${name}: counts the rejections of an account, with the last reason and address`, async () => {
    const kind = kinds[name]
    const slug = await kind.connect({ provision: false })
    const reject = async (email: string) => {
      provider.person = { sub: 'ada', email }
      const visitor = new Visitor(server.url)
      const answer = await kind.answer(slug, await visitor.start(slug), {
        assertion: true,
        email,
      })
      return errorOf(await visitor.open(answer.path, answer.form))
    }
    expect(await reject('Ada@Elsewhere.example')).toBe('no_access')
    expect(await rejected(slug)).toMatchObject([
      {
        subject: 'ada',
        email: 'ada@elsewhere.example',
        reason: 'email_domain',
        count: 1,
      },
    ])
    const since = (await rejected(slug))[0]!.lastAt

    expect(await reject(`ada@${slug}.example.org`)).toBe('no_access')
    const [again, ...others] = await rejected(slug)
    expect(others).toEqual([])
    expect(again).toMatchObject({
      email: `ada@${slug}.example.org`,
      reason: 'identity_not_provisioned',
      count: 2,
    })
    expect(again!.lastAt.getTime()).toBeGreaterThan(since.getTime())
    expect(await rejected(slug, `ADA@${slug}.example.org`)).toEqual([again])
    expect(await rejected(slug, 'ada@elsewhere.example')).toEqual([])
  })

test('stores each reason for which an identified account is rejected', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const sub = provider.person.sub as string
  const email = `ada@${slug}.example.org`
  const reasonAfter = async (person: Record<string, unknown>) => {
    Object.assign(provider.person, person)
    expect(await signIn(slug)).toBe('no_access')
    return (await rejected(slug)).find((each) => each.subject === provider.person.sub)
      ?.reason
  }
  expect(await reasonAfter({ email_verified: false })).toBe('email_unverified')
  expect(await reasonAfter({ email: undefined })).toBe('email_missing')
  provider.person = { sub, email }
  expect(await signIn(slug)).toBeNull()

  expect(await reasonAfter({ sub: 'another' })).toBe('identity_other_subject')
  const [{ id }] = (await usersOf(sql, slug)) as [{ id: string }]
  await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [id])
  expect(await reasonAfter({ sub })).toBe('user_disabled')
  await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [id])
  await unlinkUser(id, (await reload(slug)).id)
  expect(await reasonAfter({ sub })).toBe('subject_unlinked')
})

test('stores an account of another tenant', async () => {
  const [tenant, issuer] = [randomUUID(), provider.issuer]
  const settings = { kind: 'oidc' as const, issuer, clientId: 'the-client' }
  const slug = await connect(provider, { settings: { ...settings, tenants: [tenant] } })
  provider.person.tid = randomUUID()
  expect(await signIn(slug)).toBe('no_access')
  expect(await rejected(slug)).toMatchObject([
    { subject: provider.person.sub, reason: 'id_token_tid' },
  ])
  provider.person.tid = tenant
  expect(await signIn(slug)).toBeNull()
})

test('responses that can’t be verified store nothing', async () => {
  const slug = await connect(provider)
  provider.person.email = 'ada@elsewhere.example' // would be rejected
  const unverified = {
    id_token_signature: {
      sign: async (claims: object) =>
        signed({ ...claims }, await generateKeyPair('RS256')),
    },
    id_token_aud: { claims: (claims: object) => ({ ...claims, aud: 'other' }) },
    id_token_iss: {
      claims: (claims: object) => ({ ...claims, iss: 'https://x.example' }),
    },
    id_token_exp: { claims: (claims: object) => ({ ...claims, exp: 1 }) },
  }
  for (const behavior of Object.values(unverified)) {
    provider.behavior = behavior
    expect(await signIn(slug)).toBe('response_invalid')
  }
  expect(await rejected(slug)).toEqual([])

  const saml = await kinds.SAML.connect()
  const visitor = new Visitor(server.url)
  const edit = (xml: string) => xml.replace('>ada<', '>eve<')
  const answer = await kinds.SAML.answer(saml, await visitor.start(saml), {
    assertion: true,
    email: 'eve@elsewhere.example',
    tamper: edit,
  })
  expect(errorOf(await visitor.open(answer.path, answer.form))).toBe('response_invalid')
  expect(await rejected(saml)).toEqual([])
})

test('a sign-in that works stores nothing, and leaves earlier rejections', async () => {
  const slug = await connect(provider)
  const { id } = await reload(slug)
  await recordRejected(id, newRejection('another'))
  expect(await signIn(slug)).toBeNull()
  expect((await rejected(slug)).map(({ subject }) => subject)).toEqual(['another'])
})

test('a sign-in of a known user has four statements, as before, and reads no rejection', async () => {
  const slug = await connect(provider)
  expect(await signIn(slug)).toBeNull()
  const connection = (await findConnection(slug))!
  const identity = { issuer: provider.issuer, subject: provider.person.sub as string }
  const { state } = await startAttempt(connection, 'any browser', null)

  const statements: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...parameters: any[]) {
    const [given] = parameters
    statements.push(typeof given === 'string' ? given : given.text)
    return Reflect.apply(query, this, parameters)
  } as typeof query
  try {
    const attempt = { state, connectionId: connection.id, browser: 'any browser' }
    const { browserHash } = await claimAttempt(attempt)
    const userId = await findOrLinkUser(connection, identity, async () => {
      throw new Error('is not needed')
    })
    keepSecret(
      (await issueIdentityCode(userId, connection.id, identity, { browserHash })).secret,
    )
  } finally {
    pg.Client.prototype.query = query
  }
  // without the settings of a new connection, and the clean-up of the start
  const ofSignIn = statements.filter((text) => !/^\s*(SET|DELETE) /.test(text))
  expect(ofSignIn).toHaveLength(4)
  expect(statements.join()).not.toMatch(/rejected_sign_ins|tried_at/)
})

test('keeps the newest 100 accounts of a connection', async () => {
  const [one, other] = [
    await addTestConnection(`${randomUUID()}.example`),
    await addTestConnection(`${randomUUID()}.example`),
  ]
  await recordRejected(other.id, newRejection('of another connection'))
  const subjects = Array.from({ length: 1_000 }, (_, index) => `subject-${index}`)
  for (let first = 0; first < subjects.length; first += 20)
    await Promise.all(
      subjects
        .slice(first, first + 20)
        .map((subject) => recordRejected(one.id, newRejection(subject))),
    )

  await recordRejected(one.id, newRejection('the last one'))
  const kept = await listRejected(one.id)
  expect(kept).toHaveLength(100)
  expect(kept[0]!.subject).toBe('the last one')
  for (const { subject } of kept.slice(1))
    expect(Number(subject.split('-')[1])).toBeGreaterThanOrEqual(880)
  expect(await listRejected(other.id)).toHaveLength(1)
})

test('lists no rejection after 7 days, and then counts from one', async ({ sql }) => {
  const { id } = await addTestConnection(`${randomUUID()}.example`)
  for (const _ of [1, 2]) await recordRejected(id, newRejection('ada'))
  expect(await listRejected(id)).toMatchObject([{ count: 2 }])
  await sql(
    `UPDATE rejected_sign_ins SET last_at = now() - interval '7 days' WHERE connection_id = $1`,
    [id],
  )
  expect(await listRejected(id)).toEqual([])
  await recordRejected(id, newRejection('ada'))
  expect(await listRejected(id)).toMatchObject([{ count: 1 }])
})

test('stores only what is an address', async () => {
  const { id } = await addTestConnection(`${randomUUID()}.example`)
  for (const account of [
    undefined,
    'ada',
    'ada lovelace@example.com',
    'ada@example.com\u202e',
    `${'a'.repeat(250)}@example.com`,
  ]) {
    await recordRejected(id, newRejection('ada', account))
    expect(await listRejected(id), account).toMatchObject([{ email: null }])
  }
})

test('rejections that are repeated or have no account store nothing', async () => {
  const { id } = await addTestConnection(`${randomUUID()}.example`)
  const [again, unknown] = [newRejection('ada'), newRejection('ada')]
  unknown.identity = undefined
  await recordRejected(id, unknown)
  await recordRejected(id, Object.assign(again, { error: 'attempt_invalid' }))
  expect(await listRejected(id)).toEqual([])
})

test('a link deletes the rejections of its subject', async ({ sql }) => {
  const connection = await addTestConnection(`${randomUUID()}.example`)
  const email = `${randomUUID()}@example.com`
  const userId = await addUser(sql, email)
  for (const subject of ['ada', 'eve'])
    await recordRejected(connection.id, newRejection(subject, email))
  await linkUser(userId, connection, {
    issuer: 'https://idp.example.com',
    subject: 'ada',
  })
  expect((await listRejected(connection.id)).map(({ subject }) => subject)).toEqual([
    'eve',
  ])
})

test('deleting a user deletes the rejections of its address and of its accounts', async ({
  sql,
}) => {
  const connection = await addTestConnection(`${randomUUID()}.example`)
  const { id } = connection
  const name = randomUUID()
  const userId = await addUser(sql, `${name}@bücher.example`)
  const identity = { issuer: 'https://idp.example.com', subject: 'linked' }
  await linkUser(userId, connection, identity)
  for (const [subject, email] of [
    ['linked', 'changed@example.com'],
    ['first', `${name}@xn--bcher-kva.example`],
    ['second', foldCase(`${name}@bücher.example`)],
    ['of another person', 'eve@example.com'],
  ])
    await recordRejected(id, newRejection(subject!, email))

  await deleteUser(userId)
  expect((await listRejected(id)).map(({ subject }) => subject)).toEqual([
    'of another person',
  ])
  await removeConnection(connection)
  expect(
    await sql('SELECT FROM rejected_sign_ins WHERE connection_id = $1', [id]),
  ).toEqual([])
})

test('a rejection that can’t be stored changes no response', async ({ sql }) => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const back = await visitor.authorize(await visitor.start(slug))
  provider.person.email = 'ada@elsewhere.example'
  const constraint = `fails_${randomUUID().replaceAll('-', '')}`
  const { id } = await reload(slug)
  await sql(
    `ALTER TABLE rejected_sign_ins ADD CONSTRAINT ${constraint} CHECK (connection_id <> '${id}')`,
  )
  try {
    expect(errorOf(await visitor.comeBack(back))).toBe('no_access')
    await expect
      .poll(() => server.output())
      .toContain('a rejected sign-in could not be stored')
  } finally {
    await sql(`ALTER TABLE rejected_sign_ins DROP CONSTRAINT ${constraint}`)
  }
})
