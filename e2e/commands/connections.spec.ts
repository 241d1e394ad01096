import { randomBytes, randomUUID } from 'node:crypto'
import { asciiDomain } from '../../lib/sso/connection'
import {
  addConnection,
  disableConnection,
  enableConnection,
  listConnections,
  type NewConnection,
  unlinkUser,
} from '../../lib/sso/manage'
import { runScript as run } from '../support/command'
import { expect, newPassword, newToken, resetPath, type Sql, test } from '../support/fixtures'
import { clientSecret, type Provider, startProvider } from '../support/oidc-provider'
import { lockRow } from '../support/row-lock'
import { errorOf, usersOf, Visitor } from '../support/sso-visitor'

const connections = (command: string, ...parameters: string[]) => run(['connections', command, ...parameters])

let provider: Provider
let slug: string
let domain: string
test.beforeEach(async () => {
  provider = await startProvider()
  slug = `cli-${randomBytes(6).toString('hex')}`
  domain = `${slug}.example.org`
  provider.person.email = `ada@${domain}`
})
test.afterEach(() => provider.stop())

const good = () => ['--issuer', provider.issuer, '--client-id', 'x']
const add = (more: string[] = []) =>
  run(['connections', 'add', 'oidc', slug, ...good(), '--domain', domain, ...more], `${clientSecret}\n`)
/** Adds the connection in this process. Returns how many users it marks. */
const addHere = (more: Partial<NewConnection> = {}) =>
  addConnection({
    slug,
    name: 'Test',
    settings: { kind: 'oidc', issuer: provider.issuer, clientId: 'x' },
    secrets: { clientSecret },
    domains: [domain],
    provision: false,
    listed: false,
    allowPasswords: false,
    ...more,
  })
const added = async () => (await listConnections(slug))[0]!
const addUser = async (sql: Sql, name: string, at = domain) =>
  (await sql('INSERT INTO users (email) VALUES ($1) RETURNING id, email', [`${name}@${at}`]))[0] as {
    id: string
    email: string
  }

test('adds a connection, and prints what to enter at the provider and how many users lose their password', async ({
  sql,
  url,
  post,
}) => {
  const [ada, other] = [await addUser(sql, 'ada'), await addUser(sql, 'ada', `mail.${domain}`)]
  const token = await newToken(ada)
  const { code, stdout, stderr } = await add(['--provision', '--list', '--name', 'Acme'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`Added ${slug}.`)
  expect(stdout).toContain('Users of its domains who can no longer use a password: 1.')
  expect(stdout).toContain(`${url}/api/auth/sso/${slug}/callback`)
  const [row] = await sql('SELECT * FROM connections WHERE slug = $1', [slug])
  expect(row).toMatchObject({
    name: 'Acme',
    kind: 'oidc',
    settings: { issuer: provider.issuer, clientId: 'x' },
    provision: true,
    listed: true,
    allow_passwords: false,
  })
  expect(JSON.stringify(row)).not.toContain(clientSecret)
  expect(
    await sql('SELECT id, sso_only FROM users WHERE id = ANY ($1) ORDER BY sso_only', [[ada.id, other.id]]),
  ).toEqual([
    { id: other.id, sso_only: false },
    { id: ada.id, sso_only: true },
  ])
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)

  expect((await run(['users', 'allow-password', ada.email])).stdout).toContain(`${ada.email} may have a password.`)
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
  const listed = (await connections('list', '--json')).stdout.split('\n').find((line) => line.includes(`"${slug}"`))
  expect(JSON.parse(listed!)).toMatchObject({ slug, kind: 'oidc', domains: [domain], provision: true })
  const shown = `${slug}  oidc  ${provider.issuer}  ${domain}  0 users  provisions  has a button\n`
  expect((await connections('list')).stdout).toContain(shown)
})

test('marks users whose domain is stored in ASCII or in Unicode, when it is added and when it is enabled', async ({
  sql,
}) => {
  const of = (label: string) => `${label}.${domain}`
  const marked = async () => {
    const rows = await sql('SELECT email FROM users WHERE email LIKE $1 AND sso_only ORDER BY email', [`%${domain}`])
    return rows.map(({ email }) => email)
  }
  const ada = await addUser(sql, 'ada', of('bücher'))
  const bob = await addUser(sql, 'bob', of('xn--bcher-kva'))
  const eve = await addUser(sql, 'eve', of('bu\u0308cher')) // the same letter, as two characters
  await addUser(sql, 'joe', of('bucher'))
  expect(await addHere({ domains: [domain, asciiDomain(of('bücher'))!] })).toBe(3)
  expect(await marked()).toEqual([ada.email, bob.email, eve.email])
  const kim = await addUser(sql, 'kim', of('bücher'))
  await disableConnection(await added())
  expect(await enableConnection(await added())).toBe(1)
  expect(await marked()).toEqual([ada.email, bob.email, eve.email, kim.email])
})

test('marks nobody when it is enabled again with allowPasswords', async ({ sql }) => {
  await addHere({ allowPasswords: true })
  const ada = await addUser(sql, 'ada')
  await disableConnection(await added())
  expect(await enableConnection(await added())).toBe(0)
  expect(await sql('SELECT sso_only FROM users WHERE id = $1', [ada.id])).toEqual([{ sso_only: false }])
})

test('marks the users of a large domain in batches', async ({ sql }) => {
  await sql(`INSERT INTO users (email) SELECT number || '@' || $1 FROM generate_series(1, 20001) number`, [domain])
  expect(await addHere()).toBe(20_001)
  const statements = await sql(
    `SELECT count(*)::int FROM users WHERE email LIKE '%@' || $1 AND sso_only GROUP BY xmin::text ORDER BY 1 DESC`,
    [domain],
  )
  expect(statements.reduce((total, { count }) => total + count, 0)).toBe(20_001)
  expect(statements[0]!.count).toBeLessThanOrEqual(10_000)
  await sql(`DELETE FROM users WHERE email LIKE '%@' || $1`, [domain])
})

test('prints how to mark the rest after an error in a batch', async ({ sql }) => {
  const ada = await addUser(sql, 'ada')
  const lock = await lockRow('users', 'id = $1', ada.id)
  const { code, stderr } = await add()
  await lock.release()
  expect([code, stderr]).toEqual([1, expect.stringContaining(`npm run connections -- enable ${slug}`)])
  expect((await connections('enable', slug)).stdout).toContain('can no longer use a password: 1.')
})

test('adds nothing that it can’t use', async ({ sql }) => {
  await addHere()
  const other = `${slug}-2`
  const addOther = (parameters: string[], stdin = 'secret') =>
    run(['connections', 'add', 'oidc', other, ...parameters], stdin)
  const ofNew = ['--domain', `new.${domain}`]
  const at = (issuer: string) => addOther(['--issuer', issuer, '--client-id', 'x', ...ofNew])
  for (const [attempt, message] of [
    [add(), `There is already a connection ${slug}.`],
    [addOther([...good(), ...ofNew, '--domain', domain]), `Another connection has ${domain}.`],
    [addOther(good()), 'at least one --domain'],
    [at(`${provider.issuer}/\u202e`), '--issuer must contain no control or invisible characters'],
    [at('https://ada:secret@idp.example.com'), '--issuer must contain no user name and no password'],
    [at('http://idp.example.com'), '--issuer must begin with https'],
    [at('https://login.microsoftonline.com/common/v2.0'), '--tenant must list'],
    [addOther([...good(), ...ofNew, '--name', 'x'.repeat(101)]), '--name must have at most 100'],
    [addOther([...good(), '--domain', 'localhost']), '“localhost” is not a domain'],
    [addOther([...good(), ...ofNew], ''), 'Pass the client secret on stdin'],
    [run(['connections', 'add', 'oidc', 'Not A Slug', ...good(), ...ofNew], 'x'), 'is not a slug'],
    [connections('show', other), `There is no connection ${other}.`],
    [connections('disable', slug, '--list'), '--list is not a flag of “disable”.'],
  ] as const) {
    const { code, stdout, stderr } = await attempt
    expect([code, stdout], message).toEqual([2, ''])
    expect(stderr).toContain(message)
  }
  expect(await sql('SELECT 1 FROM connections WHERE slug = $1', [other])).toEqual([])
  expect(await sql('SELECT domain FROM connection_domains WHERE domain LIKE $1', [`%${domain}`])).toEqual([{ domain }])
})

test('checks a connection, and prints what is wrong', async () => {
  await addHere()
  expect((await connections('check', slug)).stdout).toContain(
    `${slug}: the provider responds, and names itself ${provider.issuer}.`,
  )
  provider.behaviour.metadata = (metadata) => ({ ...metadata, scopes_supported: ['openid'] })
  expect((await connections('check', slug)).stdout).toContain('does not announce the scope email')
  provider.behaviour.metadata = (metadata) => ({ ...metadata, issuer: `${metadata.issuer}/another` })
  const wrong = await connections('check', slug)
  expect([wrong.code, wrong.stdout]).toEqual([1, ''])
  expect(wrong.stderr).toContain('discovery_issuer. The metadata names another issuer.')
  const otherKey = await run(['connections', 'check', slug], '', {
    CONNECTION_SECRETS_KEY: randomBytes(32).toString('base64'),
  })
  expect(otherKey.stderr).toContain('CONNECTION_SECRETS_KEY has changed')
  const newKeyFirst = await run(['connections', 'check', slug], '', {
    CONNECTION_SECRETS_KEY: `${randomBytes(32).toString('base64url')}, ${process.env.CONNECTION_SECRETS_KEY}`,
  })
  expect(newKeyFirst.stderr).toContain('discovery_issuer') // the secret could be opened
  await provider.stop()
  expect((await connections('check', slug)).stderr).toContain('provider_unreachable')
})

test('links a subject that was unlinked, or that never signed in', async ({ sql, url }) => {
  // the provider names itself without the slash
  await addHere({ settings: { kind: 'oidc', issuer: `${provider.issuer}/`, clientId: 'x' } })
  const { id } = await added()
  const [ada, bob] = [await addUser(sql, 'ada'), await addUser(sql, 'bob')]
  const users = (command: string, { email }: { email: string }, ...more: string[]) =>
    run(['users', command, email, slug, ...more])
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]
  const signIn = async (subject: string) => {
    provider.person = { sub: subject, email: ada.email }
    return errorOf(await new Visitor(url).signIn(slug))
  }
  const linked = async () => (await usersOf(sql, slug)).map(({ email, issuer, subject }) => [email, issuer, subject])
  expect(await signIn(first)).toBeNull()

  const { code, stderr } = await users('link', ada, second)
  const conflict = `${ada.email} is linked to the subject ${first}. Unlink it first: npm run users -- unlink`
  expect([code, stderr]).toEqual([2, `${conflict} ${ada.email} ${slug}\n`])
  expect(await linked()).toEqual([[ada.email, provider.issuer, first]])

  await unlinkUser(ada.id, id)
  expect((await users('link', bob, first)).stdout).toBe(`Linked ${bob.email} to the subject ${first} at ${slug}.\n`)
  expect((await users('link', ada, second)).code).toBe(0)
  expect([await signIn(first), await signIn(second), await signIn(third)]).toEqual([null, null, 'no_access'])
  expect(await linked()).toContainEqual([ada.email, provider.issuer, second])
  expect(await linked()).toContainEqual([bob.email, provider.issuer, first])

  await unlinkUser(bob.id, id)
  const tenant = 'https://login.microsoftonline.com/tenant/v2.0'
  expect((await users('link', bob, first, '--issuer', tenant)).code).toBe(0)
  expect(await linked()).toContainEqual([bob.email, tenant, first])
  await provider.stop()
  await unlinkUser(ada.id, id)
  expect((await users('link', ada, third)).stderr).toContain(`npm run connections -- check ${slug}`)
})

test('disables, enables, removes and unlinks', async ({ sql, url }) => {
  await addHere({ provision: true })
  const signIn = async () => {
    const visitor = new Visitor(url)
    const landing = await visitor.signIn(slug)
    return errorOf(landing) ?? (await visitor.exchange(landing)).status
  }
  expect(await signIn()).toBe(200)
  expect((await connections('disable', slug)).stdout).toContain(`Disabled ${slug}. Sessions ended: 1.`)
  expect(await signIn()).toBe('connection_unavailable')
  expect((await connections('enable', slug)).stdout).toContain(`Users can sign in through ${slug} again.`)
  expect(await signIn()).toBe(200)

  const subject = String(provider.person.sub)
  const unlink = () => run(['users', 'unlink', String(provider.person.email), slug])
  const unlinked = (await unlink()).stdout
  expect(unlinked).toContain(`from ${slug}. Sessions ended: 1.`)
  expect(unlinked).toContain(`npm run users -- link ${provider.person.email} ${slug} ${subject}`)
  expect((await unlink()).stdout).toContain('was not linked')
  expect(await signIn(), 'with the unlinked subject').toBe('no_access')
  provider.person.sub = randomUUID()
  expect(await signIn(), 'with another subject').toBe(200)
  provider.person.sub = subject
  expect(await signIn(), 'with the unlinked subject').toBe('no_access')

  expect((await connections('remove', slug)).stdout).toContain(`Removed ${slug}. Sessions ended: 1.`)
  expect(await sql('SELECT 1 FROM identities WHERE subject = $1', [subject])).toEqual([])
  expect(await sql('SELECT 1 FROM users WHERE email = $1', [provider.person.email])).toHaveLength(1)
  expect(await signIn()).toBe('connection_unavailable')
})
