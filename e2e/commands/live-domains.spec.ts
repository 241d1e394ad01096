import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import * as routes from '../../lib/contract/routes'
import { signIn as signInWithPassword } from '../../lib/password/sign-in'
import { activateDomains } from '../../lib/sso/manage/activate'
import {
  linkUser,
  listConnections,
  type NewConnection,
  updateConnection,
} from '../../lib/sso/manage/connections'
import { allowPassword } from '../../lib/user/user'
import { errorOf, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { addTestConnection } from '../support/databases/connection'
import { caller, newPasswordUser } from '../support/databases/password-user'
import { lockRow } from '../support/databases/row-lock'
import { newFactorUser } from '../support/databases/second-factor'
import { expect, type Sql, test } from '../support/fixtures'
import {
  clientSecret,
  type Provider,
  startProvider,
} from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { runScript } from '../support/servers/command'
import { production } from '../support/servers/server'

// A connection from its trial to its end: what operators see, and what users notice.

const connections = (...parameters: string[]) =>
  runScript(['connections', ...parameters], clientSecret)

let provider: Provider // of the connection OLD
let other: Provider // of the connection NEW
let [domain, oldSlug, newSlug] = ['', '', '']
test.beforeEach(async () => {
  ;[provider, other] = await Promise.all([startProvider(), startProvider()])
  const name = randomBytes(6).toString('hex')
  domain = `${name}.example.org`
  oldSlug = `old-${name}`
  newSlug = `new-${name}`
})
test.afterEach(() => Promise.all([provider.stop(), other.stop()]))

const settingsOf = ({ issuer }: Provider) =>
  ({ kind: 'oidc', issuer, clientId: 'x' }) as const
const addOld = (more: Partial<NewConnection> = {}) =>
  addTestConnection(domain, { slug: oldSlug, settings: settingsOf(provider), ...more })
/** Adds a connection for the same domain, in trial. */
const addNew = (more: Partial<NewConnection> = {}) =>
  addTestConnection(domain, {
    slug: newSlug,
    settings: settingsOf(other),
    activate: false,
    ...more,
  })
const reload = async (slug: string) => (await listConnections(slug))[0]!

/** Signs in by the start URL of a connection, and returns the error or null. */
async function signIn(url: string, slug: string, email: string, sub = email) {
  const by = slug === oldSlug ? provider : other
  by.person = { sub, email }
  return errorOf(await new Visitor(url).signIn(slug))
}
/** Returns the slug to which a typed address leads, or null. */
async function typed(url: string, email: string): Promise<string | null> {
  const response = await fetch(url + routes.findSsoConnection.path, {
    method: 'POST',
    headers: { Accept: 'application/json', 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams({ email }),
  })
  const { returnTo } = (await response.json()) as { returnTo: string | null }
  return returnTo && new URL(returnTo, url).searchParams.get('connection')
}

/** Adds a user with a password and a session that began with it. */
async function newUserOfDomain(sql: Sql, name: string) {
  const user = await newPasswordUser(sql, { cost: 4, email: `${name}@${domain}` })
  const { sessionId } = await signInWithPassword(user.email, user.password, caller)
  const canSignIn = () =>
    signInWithPassword(user.email, user.password, caller).then(
      () => true,
      () => false,
    )
  const isSignedIn = async () =>
    (await sql('SELECT FROM sessions WHERE id = $1 AND revoked_at IS NULL', [sessionId]))
      .length === 1
  return { ...user, canSignIn, isSignedIn }
}

test('in trial, passwords and sessions stay, and the provider can sign users in', async ({
  sql,
  url,
}) => {
  const [ada, bob] = [
    await newUserOfDomain(sql, 'ada'),
    await newUserOfDomain(sql, 'bob'),
  ]
  const flags = ['--issuer', other.issuer, '--client-id', 'x', '--domain', domain]
  const added = await connections('add', 'oidc', newSlug, ...flags)
  expect(added).toMatchObject({ code: 0, stderr: '' })
  expect(added.stdout).toContain(
    `In trial: passwords and sessions stay.
But this provider can already sign users of ${domain} in.
To test it: npm run connections -- try ${newSlug}
When it works: npm run connections -- activate ${newSlug}
`,
  )
  expect(added.stdout).not.toContain('no users yet')
  expect(await typed(url, ada.email)).toBeNull()
  expect([await ada.canSignIn(), await ada.isSignedIn()]).toEqual([true, true])

  const early = await connections('activate', newSlug)
  expect([early.code, early.stdout, early.stderr]).toEqual([
    2,
    '',
    `Nobody has signed in through ${newSlug} yet. npm run connections -- try ${newSlug}. To go on anyway: --untested\n`,
  ])
  expect(await signIn(url, newSlug, ada.email), 'a pilot user').toBeNull()
  expect([await bob.canSignIn(), await bob.isSignedIn()]).toEqual([true, true])
  expect(await typed(url, bob.email)).toBeNull()
  expect((await connections('list')).stdout).toContain(`${domain} (trial)  users: 1`)

  const activated = await connections('activate', newSlug)
  expect(activated).toMatchObject({ code: 0, stderr: '' })
  expect(activated.stdout).toContain(
    `${domain} is live at ${newSlug}.
  users: 2   linked to ${newSlug}: 1   may keep a password: 0
Passwords of ${domain} can’t be used any more. Sessions ended: 4.
`,
  )
  expect(activated.stdout).toContain(
    `To go back: npm run connections -- deactivate ${newSlug}\n`,
  )
  expect(await typed(url, bob.email)).toBe(newSlug)
  for (const { canSignIn, isSignedIn } of [ada, bob])
    expect([await canSignIn(), await isSignedIn()]).toEqual([false, false])
  const listed = (await connections('list', '--json')).stdout
  expect(
    JSON.parse(listed.split('\n').find((line) => line.includes(newSlug))!),
  ).toMatchObject({ domains: [domain], trialDomains: [] })

  expect((await connections('deactivate', newSlug)).stdout).toBe(
    `${newSlug} is in trial for ${domain}. Passwords of ${domain} can be used.
Sessions and links stay. To go back: npm run connections -- activate ${newSlug}
`,
  )
  expect(await typed(url, bob.email)).toBeNull()
  expect([await ada.canSignIn(), await bob.canSignIn()]).toEqual([true, true])
  expect(await signIn(url, newSlug, ada.email)).toBeNull()
})

test('for a domain without users, add names the command that skips the trial', async () => {
  const flags = ['--issuer', other.issuer, '--client-id', 'x', '--domain', domain]
  const { stdout } = await connections('add', 'oidc', newSlug, ...flags)
  const command = `npm run connections -- activate ${newSlug} --domain ${domain} --untested`
  expect(stdout).toContain(`${domain} has no users yet. To skip the trial: ${command}\n`)
  expect((await connections(...command.split(' ').slice(4))).code).toBe(0)
  expect(await reload(newSlug)).toMatchObject({ domains: [domain], trialDomains: [] })
})

test('moves a domain to another connection, and back', async ({ sql, url }) => {
  const old = await addOld({ provision: true })
  const emails = ['ada', 'bob', 'eve'].map((name) => `${name}@${domain}`)
  for (const email of emails) expect(await signIn(url, oldSlug, email)).toBeNull()
  provider.person = { sub: emails[0], email: emails[0] }
  const visitor = new Visitor(url)
  const { body: session } = await visitor.exchange(await visitor.signIn(oldSlug))

  const flags = ['--issuer', other.issuer, '--client-id', 'x', '--domain', domain]
  const adding = (...more: string[]) =>
    connections('add', 'oidc', newSlug, ...flags, ...more)
  expect(await adding()).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `${oldSlug} has ${domain}. To prepare a change: --beside ${oldSlug}\n`,
  })
  expect(await listConnections(newSlug)).toEqual([])
  const added = await adding('--beside', oldSlug)
  expect(added.code, added.stderr).toBe(0)
  expect(await signIn(url, newSlug, emails[0]!), 'a pilot user').toBeNull()
  for (const email of emails) {
    expect(await typed(url, email)).toBe(oldSlug)
    expect(await signIn(url, oldSlug, email)).toBeNull()
  }

  const without = await connections('activate', newSlug)
  expect([without.code, without.stderr]).toEqual([
    2,
    `${oldSlug} has ${domain}. To move it: npm run connections -- activate ${newSlug} --domain ${domain} --from ${oldSlug}\n`,
  ])
  const moved = await connections('activate', newSlug, '--from', oldSlug)
  expect(moved).toMatchObject({ code: 0, stderr: '' })
  expect(moved.stdout).toBe(
    `${domain} moves from ${oldSlug} to ${newSlug}.
  users: 3   linked to ${newSlug}: 1   linked only to ${oldSlug}: 2   may keep a password: 0
Passwords of ${domain} can’t be used any more. Sessions ended: 0.
${oldSlug} can still sign in its 3 linked users, and link others. To take that away: npm run connections -- update ${oldSlug} --remove-domain ${domain} --unlink
To go back: npm run connections -- activate ${oldSlug} --from ${newSlug}
`,
  )
  expect(await typed(url, emails[0]!)).toBe(newSlug)
  expect(await signIn(url, oldSlug, emails[0]!), 'an old link').toBeNull()
  const renewed = await fetch(url + routes.refreshSession.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: JSON.stringify({ refreshToken: session.refreshToken }),
  })
  expect(renewed.status, 'an old session').toBe(200)
  for (const { refreshToken } of [(await renewed.json()) as { refreshToken: string }])
    keepSecret(refreshToken)

  const again = await connections('activate', newSlug, '--from', oldSlug)
  expect(again.stdout, 'a repeated command').toContain(`${domain} is live at ${newSlug}.`)
  const back = await connections('activate', oldSlug, '--from', newSlug)
  expect(back.stdout).toContain(`${domain} moves from ${newSlug} to ${oldSlug}.`)
  expect(await typed(url, emails[0]!)).toBe(oldSlug)
  expect(await sql('SELECT FROM identities WHERE connection_id = $1', [old.id])).toEqual([
    {},
    {},
    {},
  ])
})

test('moves only the named domains, and rejects wrong ones', async () => {
  const [second, third] = [`2.${domain}`, `3.${domain}`]
  await addOld({ domains: [domain, second] })
  await addNew({ domains: [domain, second, third], beside: oldSlug })
  const activate = (...parameters: string[]) =>
    connections('activate', newSlug, '--untested', ...parameters)
  for (const [parameters, message] of [
    [['--domain', `4.${domain}`], `${newSlug} does not have 4.${domain}: npm run`],
    [['--domain', third, '--from', oldSlug], `${third} is not live at ${oldSlug}: omit`],
    [['--domain', domain], `${oldSlug} has ${domain}. To move it: npm run connections`],
    [['--from', 'nobody'], 'There is no connection nobody.'],
  ] as const) {
    const { code, stdout, stderr } = await activate(...parameters)
    expect([code, stdout], message).toEqual([2, ''])
    expect(stderr).toContain(message)
  }
  expect((await activate()).code, 'what is live nowhere').toBe(0)
  expect(await reload(newSlug)).toMatchObject({ domains: [third] })
  expect((await activate('--domain', second, '--from', oldSlug)).code).toBe(0)
  expect(await reload(newSlug)).toMatchObject({
    domains: [second, third],
    trialDomains: [domain],
  })
  expect(await reload(oldSlug)).toMatchObject({
    domains: [domain],
    trialDomains: [second],
  })
  expect((await connections('deactivate', newSlug, '--domain', domain)).stderr).toBe(
    `${newSlug} is not live for ${domain}.\n`,
  )

  expect((await connections('disable', newSlug)).code).toBe(0)
  expect(await activate()).toMatchObject({
    code: 2,
    stderr: `${newSlug} is disabled. First: npm run connections -- enable ${newSlug}\n`,
  })
})

test('an update and an activation that have read the same connection do not both succeed', async () => {
  const before = await addNew()
  await updateConnection(before, {
    settings: { ...before.settings, issuer: 'https://x' } as never,
    secrets: { clientSecret },
  })
  await expect(activateDomains(before)).rejects.toThrow('Another command has changed')
  const current = await reload(newSlug)
  await activateDomains(current)
  await expect(updateConnection(current, { listed: true })).rejects.toThrow(
    'Another command has changed',
  )
  expect(await reload(newSlug)).toMatchObject({ domains: [domain], listed: false })
})

test('a second factor rejects a link only while the user may use a password', async ({
  sql,
  url,
}) => {
  const connection = await addNew()
  const [ada, bob, eve] = await Promise.all(
    ['ada', 'bob', 'eve'].map((name) =>
      newFactorUser(sql, { email: `${name}@${domain}` }),
    ),
  )
  expect(await signIn(url, newSlug, ada!.email), 'in trial').toBe('no_access')
  const issuer = other.issuer
  await linkUser(bob!.id, connection, { issuer, subject: bob!.email })
  expect(await signIn(url, newSlug, bob!.email), 'linked by the operator').toBeNull()

  await allowPassword({ userId: eve!.id })
  const { stdout } = await connections('activate', newSlug)
  expect(stdout).toContain('may keep a password: 1\n')
  expect(stdout).toContain(
    `  with a second factor: 3 (${newSlug} decides about factors from now on)\n`,
  )
  expect(await signIn(url, newSlug, ada!.email), 'live').toBeNull()
  expect(await signIn(url, newSlug, eve!.email), 'with a password').toBe('no_access')
  await expect(
    signInWithPassword(eve!.email, eve!.password, caller),
  ).rejects.toMatchObject({ code: 'SECOND_FACTOR_REQUIRED' })
})

test('a domain is removed only with a choice about the links of its users', async ({
  sql,
  url,
}) => {
  await addOld({ provision: true })
  const emails = ['ada', 'bob'].map((name) => `${name}@${domain}`)
  for (const email of emails) expect(await signIn(url, oldSlug, email)).toBeNull()
  const [ada] = emails as [string, string]
  const linked = () => usersOf(sql, oldSlug)
  const remove = (...flags: string[]) =>
    connections('update', oldSlug, '--remove-domain', domain, ...flags)

  const refused = await remove()
  expect([refused.code, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toContain(`Users of ${domain} who are linked to ${oldSlug}: 2.`)
  expect(refused.stderr).toContain('--keep-links')
  expect(await reload(oldSlug)).toMatchObject({ domains: [domain], users: 2 })

  expect((await remove('--keep-links')).stdout).toContain(`domains: ${domain} → none`)
  expect(await signIn(url, oldSlug, ada), 'the old provider').toBeNull()
  expect(await signIn(url, oldSlug, `eve@${domain}`), 'a new user').toBe('no_access')

  const visitor = new Visitor(url)
  provider.person = { sub: ada, email: ada }
  await visitor.exchange(await visitor.signIn(oldSlug))
  const unused = await new Visitor(url).signIn(oldSlug) // with a code
  const unlinked = await remove('--unlink')
  expect(unlinked.stdout, 'a repeated command deletes the links').toContain(
    `Users who are no longer linked to ${oldSlug}: 2. Sessions ended: 1.`,
  )
  expect(await linked()).toEqual([])
  expect((await new Visitor(url).exchange(unused)).status).toBe(400)
  expect(await signIn(url, oldSlug, ada)).toBe('no_access')

  // The domain gets another owner, and later comes back.
  await addNew({ activate: true })
  expect(await signIn(url, newSlug, ada)).toBeNull()
  const away = ['update', newSlug, '--remove-domain', domain, '--unlink']
  expect((await connections(...away)).code).toBe(0)
  expect((await connections('update', oldSlug, '--domain', domain)).code).toBe(0)
  expect((await connections('activate', oldSlug, '--untested')).code).toBe(0)
  for (const email of emails) expect(await signIn(url, oldSlug, email)).toBeNull()
  expect(await linked()).toHaveLength(2)
})

test('an issuer moves with the same users, and back', async ({ sql, url }) => {
  await addOld({ provision: true })
  const ada = `ada@${domain}`
  expect(await signIn(url, oldSlug, ada, 'subject of ada')).toBeNull()
  const [before] = await usersOf(sql, oldSlug)
  const stored = async () =>
    (await sql('SELECT sealed_secrets FROM connections WHERE slug = $1', [oldSlug]))[0]
  const secrets = await stored()

  const { issuer } = provider
  const move = (to: string, ...more: string[]) =>
    connections('update', oldSlug, '--issuer', to, ...more)
  const without = await move(other.issuer)
  expect(without.code).toBe(2)
  for (const text of [
    `npm run connections -- update ${oldSlug} --issuer ${other.issuer} --same-users`,
    `npm run connections -- add oidc NEW-SLUG --issuer ${other.issuer} --domain DOMAIN --beside ${oldSlug}`,
  ])
    expect(without.stderr).toContain(text)
  const nowhere = await move('http://127.0.0.1:1', '--same-users')
  expect([nowhere.code, nowhere.stdout]).toEqual([1, ''])
  expect((await usersOf(sql, oldSlug))[0]).toEqual(before)

  // The metadata names the issuer without the slash.
  const moved = await move(`${other.issuer}/`, '--same-users')
  expect(moved.code, moved.stderr).toBe(0)
  expect(moved.stdout).toContain(`issuer: ${issuer} → ${other.issuer}\n`)
  expect(moved.stdout).toContain(
    `1 links now name ${other.issuer}. For example, ${ada} is subject of ada.\nTry one sign-in now; if it shows another user, undo: npm run connections -- update ${oldSlug} --issuer ${issuer} --same-users\n`,
  )
  const warning = moved.stdout.split('\n').find((line) => line.startsWith('{'))
  expect(JSON.parse(warning!)).toMatchObject({ level: 'warn', connection: oldSlug })

  expect(await stored()).not.toEqual(secrets)
  provider.person = { sub: 'nobody', email: 'nobody@example.com' }
  other.person = { sub: 'subject of ada', email: 'changed@example.com' }
  expect(errorOf(await new Visitor(url).signIn(oldSlug))).toBeNull()
  expect(await usersOf(sql, oldSlug)).toEqual([{ ...before, issuer: other.issuer }])

  expect((await move(issuer, '--same-users')).code).toBe(0)
  provider.person = { sub: 'subject of ada', email: 'changed@example.com' }
  expect(errorOf(await new Visitor(url).signIn(oldSlug))).toBeNull()
  expect(await usersOf(sql, oldSlug)).toEqual([before])

  await sql('UPDATE connections SET settings = settings || $2 WHERE slug = $1', [
    oldSlug,
    { tenants: [randomUUID(), randomUUID()] },
  ])
  expect((await move(other.issuer, '--same-users')).code).toBe(2)
})

test('check names a trial that nobody has tried for 30 days', async ({ sql }) => {
  await addNew()
  const line = 'In trial for more than 30 days, but nobody has signed in'
  const check = async () => (await connections('check', newSlug)).stdout
  expect(await check()).not.toContain(line)
  await sql(
    `UPDATE connections SET created_at = now() - interval '31 days' WHERE slug = $1`,
    [newSlug],
  )
  expect(await check()).toContain(line)
  await sql('UPDATE connections SET tried_at = now() WHERE slug = $1', [newSlug])
  expect(await check()).not.toContain(line)
})

/** Starts a command, kills it while its batch waits for a user's row, and repeats it. */
async function killAndRepeat(userId: string, parameters: string[]): Promise<string> {
  const lock = await lockRow('users', 'id = $1', userId)
  const program = `${production}bin/connections.js`
  const child = spawn(process.execPath, [program, ...parameters], {
    cwd: production,
    stdio: 'ignore',
  })
  await lock.waiting(1)
  child.kill('SIGKILL')
  await once(child, 'close')
  await lock.release()

  return (await connections(...parameters)).stdout
}

test('a repeated command ends the sessions that a killed activation has left', async ({
  sql,
}) => {
  const ada = await newUserOfDomain(sql, 'ada')
  await addNew()
  const output = await killAndRepeat(ada.id, ['activate', newSlug, '--untested'])
  expect(output).toContain('Sessions ended: 1.')
  expect(await ada.isSignedIn()).toBe(false)
})

test('a repeated command deletes the links that a killed removal has left', async ({
  sql,
  url,
}) => {
  await addOld({ provision: true })
  const ada = `ada@${domain}`
  expect(await signIn(url, oldSlug, ada)).toBeNull()
  const [{ id }] = (await usersOf(sql, oldSlug)) as [{ id: string }]
  const parameters = ['update', oldSlug, '--remove-domain', domain, '--unlink']
  expect(await killAndRepeat(id, parameters)).toContain('Nothing has changed.')
  expect(await usersOf(sql, oldSlug)).toEqual([])
  expect(await reload(oldSlug)).toMatchObject({ domains: [], trialDomains: [] })
})
