import { randomBytes, randomUUID } from 'node:crypto'
import { emailDomain } from '../../lib/contract/email-address'
import * as routes from '../../lib/contract/routes'
import { decrypt } from '../../lib/second-factor/encryption'
import { parseDomain } from '../../lib/sso/connection'
import { endPasswordSessions } from '../../lib/sso/manage/batches'
import {
  linkUser,
  listConnections,
  type NewConnection,
  unlinkUser,
  updateConnection,
} from '../../lib/sso/manage/connections'
import { allowPassword } from '../../lib/user/user'
import { errorOf, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { addTestConnection } from '../support/databases/connection'
import { openOwnDatabase } from '../support/databases/own-database'
import { newFactorUser } from '../support/databases/second-factor'
import {
  expect,
  newPassword,
  newToken,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import {
  clientSecret,
  type Provider,
  startProvider,
} from '../support/providers/oidc-provider'
import { runScript as run } from '../support/servers/command'

const connections = (command: string, ...parameters: string[]) =>
  run(['connections', command, ...parameters])

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

test('a connection whose stored settings became invalid is named, and can be disabled and removed', async () => {
  const database = await openOwnDatabase()
  const settings = { DATABASE_URL: database.url(), PUBLIC_URL: 'https://localhost:3443' }
  const command = (...parameters: string[]) => run(parameters, '', settings)
  await database.sql(
    `INSERT INTO connections (slug, name, kind, settings)
     VALUES ('local', 'Local', 'oidc', '{"issuer":"http://idp.example.com","clientId":"x"}')`,
  )
  const problem =
    'The connection local can’t be used: its setting issuer must begin with https://. Change or remove it with npm run connections.\n'
  try {
    for (const parameters of [
      ['connections', 'list'],
      ['connections', 'show', 'local'],
      ['connections', 'enable', 'local'],
    ])
      expect(await command(...parameters), parameters.join(' ')).toEqual({
        code: 1,
        stdout: '',
        stderr: problem,
      })
    expect((await command('connections', 'disable', 'local')).code).toBe(0)
    expect((await command('connections', 'remove', 'local')).stdout).toContain(
      'Removed local.',
    )
    expect(await command('connections', 'list')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  } finally {
    await database.drop()
  }
})

const good = () => ['--issuer', provider.issuer, '--client-id', 'x']
const add = (more: string[] = []) =>
  run(
    ['connections', 'add', 'oidc', slug, ...good(), '--domain', domain, ...more],
    `${clientSecret}\n`,
  )
/** Adds the connection in this process, without the command. */
const addHere = (more: Partial<NewConnection> = {}) =>
  addTestConnection(domain, {
    slug,
    settings: { kind: 'oidc', issuer: provider.issuer, clientId: 'x' },
    ...more,
  })
const addUser = async (sql: Sql, name: string, at = domain) =>
  (
    await sql(
      'INSERT INTO users (email, email_domain) VALUES ($1, $2) RETURNING id, email',
      [`${name}@${at}`, emailDomain(`${name}@${at}`)],
    )
  )[0] as User

test('adds a live connection, and prints the values to enter at the provider', async ({
  sql,
  url,
  post,
}) => {
  const ada = await addUser(sql, 'ada')
  await addUser(sql, 'ada', `mail.${domain}`)
  const token = await newToken(ada)
  const { code, stdout, stderr } = await add([
    '--activate',
    '--provision',
    '--list',
    '--name',
    'Acme',
  ])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`Added ${slug}.`)
  expect(stdout).toContain('Users of its domains who can’t use a password: 1.')
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
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)

  expect((await run(['users', 'allow-password', ada.email])).stdout).toBe(
    'Users who may now have a password: 1.\n',
  )
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
  const listed = (await connections('list', '--json')).stdout
    .split('\n')
    .find((line) => line.includes(`"${slug}"`))
  expect(JSON.parse(listed!)).toMatchObject({
    slug,
    kind: 'oidc',
    domains: [domain],
    provision: true,
  })
  const shown = `${slug}  oidc  ${provider.issuer}  ${domain} (live)  users: 0  provisions  has a button\n`
  expect((await connections('list')).stdout).toContain(shown)
})

test('ends password sessions of users whose domain is stored in ASCII or in Unicode', async ({
  sql,
}) => {
  const of = (label: string) => `${label}.${domain}`
  const members = [
    await addUser(sql, 'ada', of('bücher')),
    await addUser(sql, 'bob', of('xn--bcher-kva')),
  ]
  members.push(await addUser(sql, 'eve', of('bu\u0308cher'))) // the same letter, but written as two characters
  const [other, exempt] = [
    await addUser(sql, 'joe', of('bucher')),
    await addUser(sql, 'kim', of('bücher')),
  ]
  await allowPassword({ userId: exempt.id })
  const users = [...members, other, exempt].map(({ id }) => id)
  await sql(
    `INSERT INTO sessions (user_id, method, connection_id, expires_at)
     SELECT id, method, CASE method WHEN 'sso' THEN gen_random_uuid() END, now() + interval '1 day'
     FROM unnest($1::uuid[]) AS id, unnest(ARRAY['password', NULL, 'sso', 'code']) AS method`,
    [users],
  )
  const domains = [domain, parseDomain(of('bücher'))!]
  await addHere({ domains })
  expect(await endPasswordSessions(domains)).toEqual({ users: 3, sessions: 6 })
  const live = await sql(
    `SELECT user_id, array_agg(method ORDER BY method) AS methods FROM sessions
     WHERE user_id = ANY ($1) AND revoked_at IS NULL GROUP BY user_id`,
    [users],
  )
  const methods = Object.fromEntries(live.map((row) => [row.user_id, row.methods]))
  const all = ['code', 'password', 'sso', null]
  expect(users.map((id) => methods[id])).toEqual([
    ...members.map(() => ['code', 'sso']),
    all,
    all,
  ])
})

test('ends the sessions of a large domain in batches', async ({ sql }) => {
  await sql(
    `WITH more AS (
       INSERT INTO users (email, email_domain) SELECT number || '@' || $1, $1 FROM generate_series(1, 1001) number RETURNING id
     )
     INSERT INTO sessions (user_id, method, expires_at) SELECT id, 'password', now() + interval '1 day' FROM more`,
    [domain],
  )
  await addHere()
  expect(await endPasswordSessions([domain])).toEqual({ users: 1001, sessions: 1001 })
  const statements = await sql(
    `SELECT count(*)::int FROM sessions JOIN users ON users.id = user_id
     WHERE email_domain = $1 AND revoked_at IS NOT NULL GROUP BY sessions.xmin::text ORDER BY 1 DESC`,
    [domain],
  )
  expect(statements.map(({ count }) => count)).toEqual([500, 500, 1])
  expect(await allowPassword({ domain })).toBe(1001)
  await sql('DELETE FROM users WHERE email_domain = $1', [domain])
})

test('prints how many users can’t sign in any more, and the command that allows them to', async ({
  sql,
  post,
}) => {
  const of = (name: string) => addUser(sql, name)
  const [ada, , withPassword, linked, disabled] = [
    await of('ada'),
    await of('bob'),
    await of('eve'),
    await of('joe'),
    await of('kim'),
  ]
  await sql(`UPDATE users SET password_hash = 'x' WHERE id = $1`, [withPassword.id])
  await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [disabled.id])
  const other = await addTestConnection(`other.${domain}`)
  await linkUser(linked.id, other, { issuer: 'https://idp.example.com', subject: 'joe' })
  await addHere()
  const left = (count: number) =>
    `Users of its domains who can no longer sign in: ${count}.\n`
  const allow = `npm run users -- allow-password --domain ${domain}`
  expect((await connections('disable', slug)).stdout).toContain(
    `${left(3)}To allow them a password: ${allow}\n`,
  )
  const users = (...parameters: string[]) =>
    run(['users', 'allow-password', ...parameters])
  expect((await users('--domain', domain.toUpperCase())).stdout).toBe(
    'Users who may now have a password: 5.\n',
  )
  const reset = async () =>
    (await post(resetPath, { token: await newToken(ada), password: newPassword() }))
      .status
  expect(await reset()).toBe(200)
  expect((await users(ada.email, '--undo')).stdout).toBe(
    'Users who are no longer exempt from SSO: 1.\n',
  )
  expect(await reset()).toBe(400)
  expect(
    (await connections('disable', slug)).stdout,
    'ada, and bob without a password',
  ).toContain(left(2))
  const { stdout } = await connections('remove', slug)
  expect(stdout, 'bob').toContain(
    `${left(1)}They can choose a password by a reset link: npm run users -- invite EMAIL\n`,
  )
  expect(await reset()).toBe(200)
  expect((await users()).stderr).toContain('Name an EMAIL or a --domain.')
  expect((await users('--domain', 'x')).stderr).toContain('“x” is not a domain')
})

test('rejects an invalid connection, and adds nothing', async ({ sql }) => {
  await addHere()
  const other = `${slug}-2`
  const addOther = (parameters: string[], stdin = 'secret') =>
    run(['connections', 'add', 'oidc', other, ...parameters], stdin)
  const ofNew = ['--domain', `new.${domain}`]
  const at = (issuer: string) =>
    addOther(['--issuer', issuer, '--client-id', 'x', ...ofNew])
  for (const [attempt, message] of [
    [add(), `There is already a connection ${slug}.`],
    [
      addOther([...good(), ...ofNew, '--domain', domain]),
      `${slug} has ${domain}. To prepare a change: --beside ${slug}`,
    ],
    [
      addOther([...good(), '--domain', domain, '--activate']),
      `${slug} has ${domain}. To prepare a change: --beside ${slug}`,
    ],
    [
      addOther([...good(), '--domain', domain, '--activate', '--beside', slug]),
      '--beside prepares a change, so it can’t be used with --activate.',
    ],
    [
      addOther([...good(), ...ofNew, '--beside', slug]),
      `None of these domains is live at ${slug}: omit --beside.`,
    ],
    [addOther(good()), 'at least one --domain'],
    [
      at(`${provider.issuer}/\u202e`),
      '--issuer must contain no control or invisible characters',
    ],
    [
      at('https://ada:secret@idp.example.com'),
      '--issuer must contain no user name and no password',
    ],
    [at('http://idp.example.com'), '--issuer must begin with https'],
    [at('https://login.microsoftonline.com/common/v2.0'), '--tenant must list'],
    [
      addOther([...good(), ...ofNew, '--name', 'x'.repeat(101)]),
      '--name must have at most 100',
    ],
    [addOther([...good(), '--domain', 'localhost']), '“localhost” is not a domain'],
    [addOther([...good(), ...ofNew], ''), 'Pass the client secret on stdin'],
    [
      run(['connections', 'add', 'oidc', 'Not A Slug', ...good(), ...ofNew], 'x'),
      'is not a slug',
    ],
    [connections('show', other), `There is no connection ${other}.`],
    [connections('disable', slug, '--list'), "unknown option '--list'"],
  ] as const) {
    const { code, stdout, stderr } = await attempt
    expect([code, stdout], message).toEqual([2, ''])
    expect(stderr).toContain(message)
  }
  expect(await sql('SELECT 1 FROM connections WHERE slug = $1', [other])).toEqual([])
  expect(
    await sql('SELECT domain FROM connection_domains WHERE domain LIKE $1', [
      `%${domain}`,
    ]),
  ).toEqual([{ domain }])
})

const added = async () => (await listConnections(slug))[0]!
const update = (parameters: string[], stdin = '') =>
  run(['connections', 'update', slug, ...parameters], stdin)

test('updates a connection without changing its users, sessions and other domains', async ({
  sql,
  url,
  post,
}) => {
  await addHere({ provision: true, allowPasswords: true })
  const visitor = new Visitor(url)
  const { body: session } = await visitor.exchange(await visitor.signIn(slug))
  const linked = async () =>
    (await usersOf(sql, slug)).map(({ id, subject }) => [id, subject])
  const before = await linked()
  const bob = await addUser(sql, 'bob', `new.${domain}`)
  await sql(
    `INSERT INTO sessions (user_id, method, expires_at) VALUES ($1, 'password', now() + interval '1 day')`,
    [bob.id],
  )
  const outcome = async () => errorOf(await new Visitor(url).signIn(slug))

  const flags = [
    '--domain',
    `NEW.${domain}`,
    '--name',
    'Acme',
    '--list',
    '--no-provision',
    '--no-allow-passwords',
  ]
  const changed = await update([...flags, '--email-claim', 'upn', '--trust-claim'])
  expect([changed.code, changed.stderr]).toEqual([0, ''])
  expect(changed.stdout).toBe(
    `Updated ${slug}.
  name: Test → Acme
  provision: true → false
  listed: false → true
  allowPasswords: true → false
  trialDomains: none → new.${domain}
  emailClaim: none → upn
  trustClaim: none → true
In trial: passwords and sessions stay.
But this provider can already sign users of new.${domain} in.
To test it: npm run connections -- try ${slug}
When it works: npm run connections -- activate ${slug}
Users of its domains who can’t use a password: 1.
To exempt one, for emergencies: npm run users -- allow-password EMAIL

At the identity provider, enter:
  ${'scopes'.padEnd(28)} openid, email, profile
`,
  )
  const sessionsOfBob = () =>
    sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [bob.id])
  expect(await sessionsOfBob()).toHaveLength(1)
  expect((await connections('activate', slug)).code).toBe(0)
  expect(await sessionsOfBob()).toEqual([])
  expect(
    (await update(['--remove-domain', domain, '--keep-links', '--email-claim', '']))
      .stdout,
  ).toContain(
    `  domains: ${domain}, new.${domain} → new.${domain}\n  emailClaim: upn → none\n  trustClaim: true → none\n`,
  )
  expect((await update(['--list'])).stdout).toBe(
    `Updated ${slug}. Nothing has changed.\n`,
  )
  expect((await update(['--session-hours', '8'])).stdout).toContain(
    '  sessionHours: none → 8\n',
  )
  expect((await update(['--session-hours', ''])).stdout).toContain(
    '  sessionHours: 8 → none\n',
  )

  expect((await update([], 'wrong')).stdout).toBe(
    `Updated ${slug}.\n  secrets: replaced\n`,
  )
  expect(await outcome()).toBe('server_error')
  await sql('UPDATE connections SET sealed_secrets = $2 WHERE slug = $1', [slug, 'lost'])
  expect(await outcome(), 'a secret that no key opens').toBe('unavailable')
  await update([], clientSecret)
  expect(await outcome()).toBeNull()
  const client = await update(['--client-id', 'y'], clientSecret)
  for (const text of [
    'clientId: x → y',
    'identity_other_subject',
    `/api/auth/sso/${slug}/callback`,
  ])
    expect(client.stdout).toContain(text)
  expect(client.stdout).not.toContain(clientSecret)
  expect(await outcome()).toBeNull()
  expect(await linked()).toEqual(before)
  expect(
    (await post(routes.refreshSession.path, { refreshToken: session.refreshToken }))
      .status,
  ).toBe(200)
})

test('rejects sign-ins of a connection with several tenants until each tenant has domains', async ({
  sql,
  url,
}) => {
  const [one, two] = [randomUUID(), randomUUID()]
  await addHere({ provision: true })
  await sql(`UPDATE connections SET settings = settings || $2 WHERE slug = $1`, [
    slug,
    { tenants: [one, two] },
  ])
  const outcome = async () => errorOf(await new Visitor(url).signIn(slug))
  provider.behavior.claims = (claims) => ({ ...claims, tid: two })
  expect(await outcome()).toBe('unavailable')
  const refused = await connections('check', slug)
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('tenant_domains. Name the domains'),
  ])
  expect((await connections('show', slug)).stdout).toContain(
    `tenant: ${one}, which vouches for no domain`,
  )
  expect((await update(['--name', 'Acme'])).stderr).toContain(
    '--tenant must name the domains',
  )

  const other = `other.${domain}`
  await update([
    '--domain',
    other,
    '--tenant',
    `${one}=${domain}`,
    '--tenant',
    `${two}=${other}`,
  ])
  expect(await outcome(), 'an address of the other tenant').toBe('no_access')
  provider.person.email = `ada@${other}`
  expect(await outcome()).toBeNull()
})

test('encrypts all secrets with the first key, and lists secrets that no key decrypts', async () => {
  const database = await openOwnDatabase()
  const [first, next] = [randomBytes(32), randomBytes(32)].map((key) =>
    key.toString('base64'),
  )
  const own = { DATABASE_URL: database.url(), DIRECT_DATABASE_URL: '' }
  const withKey = (key: string, parameters: string[], stdin = '') =>
    run(['connections', ...parameters], stdin, { ...own, ENCRYPTION_KEY: key })
  for (const each of [slug, `${slug}-2`])
    await withKey(
      first!,
      ['add', 'oidc', each, ...good(), '--domain', `${each}.example.org`],
      clientSecret,
    )
  const user = await newFactorUser(database.sql)
  const encrypted = async () =>
    (await database.sql('SELECT encrypted_secret FROM second_factors'))[0]!
      .encrypted_secret
  const all = `${next}, ${first}, ${process.env.ENCRYPTION_KEY}`
  expect((await withKey(all, ['re-encrypt'])).stdout).toContain(
    'encrypted with the first key: 2.\nSecond factors encrypted with the first key: 1.\nOnce every',
  )
  expect(await decrypt(await encrypted(), `totp ${user.id}`)).toBeNull()
  expect((await withKey(next!, ['check', slug])).code).toBe(0)
  expect((await withKey(first!, ['check', slug])).stderr).toContain(
    'ENCRYPTION_KEY has changed',
  )
  await database.sql(`UPDATE connections SET sealed_secrets = 'lost' WHERE slug = $1`, [
    slug,
  ])
  const { code, stdout, stderr } = await withKey(next!, ['re-encrypt'])
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^Conn.* first key: 1\.\nSecond .* first key: 1\.\n$/),
  ])
  expect(stderr).toContain(`${slug}: The secrets can’t be decrypted`)
  expect((await withKey(first!, ['re-encrypt'])).stderr).toContain(
    'No key fits 1 second factors',
  )
  await database.drop()
})

test('rejects an invalid update, and changes nothing', async ({ sql }) => {
  await addHere()
  const other = `other.${domain}`
  await addHere({ slug: `${slug}-2`, domains: [other] })
  const stored = () =>
    sql(
      `SELECT connections.*, domain FROM connections JOIN connection_domains ON connection_id = id
       WHERE slug LIKE $1 ORDER BY slug`,
      [`${slug}%`],
    )
  const before = await stored()
  for (const [parameters, message] of [
    [[], 'Pass the client secret on stdin'],
    [['--client-id', 'y'], 'Pass the client secret on stdin'],
    [
      ['--issuer', 'https://other.example'],
      `${slug} is ${provider.issuer}, not https://other.example, which can have other users`,
    ],
    [
      ['--metadata', 'idp.xml'],
      '--metadata is not a flag of a connection of the kind oidc.',
    ],
    [['--domain', 'localhost'], '“localhost” is not a domain'],
    [['--name', ''], '--name must have at least one character'],
    [['--session-hours', '169'], '--session-hours must be a whole number from 1 to 168.'],
    [
      ['--domain', other, '--name', 'Acme'],
      `${slug}-2 has ${other}. To prepare a change: --beside ${slug}-2`,
    ],
    [['--unlink'], '--unlink and --keep-links need --remove-domain.'],
    [
      ['--remove-domain', domain, '--unlink', '--keep-links'],
      'Pass --unlink or --keep-links, not both.',
    ],
  ] as [string[], string][]) {
    const { code, stdout, stderr } = await update(parameters)
    expect([code, stdout], message).toEqual([2, ''])
    expect(stderr).toContain(message)
  }
  expect(await stored()).toEqual(before)
})

test('does not overwrite what another command has changed since this command read the connection', async () => {
  await addHere()
  const read = await added()
  const { clientId, ...settings } = read.settings as {
    clientId: string
  } & typeof read.settings
  await updateConnection(read, {
    settings: { ...settings, clientId: 'y' } as never,
    secrets: { clientSecret },
  })
  for (const change of [
    { settings: read.settings },
    { secrets: { clientSecret } },
    { name: 'Late' },
  ])
    await expect(updateConnection(read, change)).rejects.toThrow(
      'Another command has changed',
    )
  expect(await added()).toMatchObject({ name: 'Test', settings: { clientId: 'y' } })
  // Changes of different columns do not conflict.
  const [one, two] = [await added(), await added()]
  await updateConnection(one, { provision: true, domains: [`one.${domain}`] })
  await updateConnection(two, { listed: true, domains: [`two.${domain}`] })
  const trialDomains = [`one.${domain}`, `two.${domain}`]
  const changed = { provision: true, listed: true, domains: [domain], trialDomains }
  expect(await added()).toMatchObject(changed)
})

test('checks a connection, and prints the error', async () => {
  await addHere()
  expect((await connections('check', slug)).stdout).toContain(
    `${slug}: the provider responds, and names itself ${provider.issuer}. It accepts the client secret.\n`,
  )
  const isRegistered = provider.behavior
  provider.behavior = { tokenAuth: 'post' } // as if the secret were wrong
  const rejected = await connections('check', slug)
  expect([rejected.code, rejected.stderr]).toEqual([
    1,
    expect.stringContaining('token_invalid_client. Is the client secret right?'),
  ])
  provider.behavior.clientError = 'unauthorized_client'
  expect((await connections('check', slug)).stderr).toContain(
    'token_unauthorized_client. Is the client secret right?',
  )
  provider.behavior = {
    metadata: (metadata) => ({
      ...metadata,
      token_endpoint: `${provider.issuer}/nowhere`,
    }),
  }
  expect((await connections('check', slug)).stdout).toContain(
    'Whether the client secret is right is unknown',
  )
  provider.behavior = isRegistered
  provider.behavior.metadata = (metadata) => ({
    ...metadata,
    scopes_supported: ['openid'],
  })
  expect((await connections('check', slug)).stdout).toContain(
    'does not announce the scope email: if it sends no email address, nobody can be linked.',
  )
  provider.behavior.metadata = (metadata) => ({
    ...metadata,
    id_token_signing_alg_values_supported: ['HS256', 'HS512'],
  })
  expect((await connections('check', slug)).stdout).toContain(
    'It signs ID tokens only with HS256, HS512: choose an RSA or EC key there.',
  )
  provider.behavior.jwks = () => ({ body: { keys: [] } })
  expect((await connections('check', slug)).stderr).toContain(
    'provider_keys_empty. The provider signs ID tokens with HS256, or publishes no key: choose an RSA or EC key there.',
  )
  provider.behavior.jwks = () => ({ status: 500, body: '' })
  expect((await connections('check', slug)).stderr).toContain('provider_keys. The keys')
  delete provider.behavior.jwks
  provider.behavior.metadata = (metadata) => ({
    ...metadata,
    issuer: `${metadata.issuer}/another`,
  })
  const wrong = await connections('check', slug)
  expect([wrong.code, wrong.stdout]).toEqual([1, ''])
  expect(wrong.stderr).toContain('discovery_issuer. The metadata names another issuer.')
  const otherKey = await run(['connections', 'check', slug], '', {
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  })
  expect(otherKey.stderr).toContain('ENCRYPTION_KEY has changed')
  const newKeyFirst = await run(['connections', 'check', slug], '', {
    ENCRYPTION_KEY: '',
    CONNECTION_SECRETS_KEY: `${randomBytes(32).toString('base64url')}, ${process.env.ENCRYPTION_KEY}`,
  })
  // The error of the discovery shows that the client secret was already decrypted.
  expect(newKeyFirst.stderr).toMatch(
    /^CONNECTION_SECRETS_KEY has a new name.*\n.*discovery_issuer/,
  )
  await provider.stop()
  expect((await connections('check', slug)).stderr).toContain('provider_unreachable')
})

test('links a subject that was unlinked or has never signed in', async ({ sql, url }) => {
  // The issuer in the provider's metadata has no slash at its end.
  await addHere({
    settings: { kind: 'oidc', issuer: `${provider.issuer}/`, clientId: 'x' },
  })
  const { id } = (await listConnections(slug))[0]!
  const [ada, bob] = [await addUser(sql, 'ada'), await addUser(sql, 'bob')]
  const users = (command: string, { email }: { email: string }, ...more: string[]) =>
    run(['users', command, email, slug, ...more])
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]
  const signIn = async (subject: string) => {
    provider.person = { sub: subject, email: ada.email }
    return errorOf(await new Visitor(url).signIn(slug))
  }
  const linked = async () =>
    (await usersOf(sql, slug)).map(({ email, issuer, subject }) => [
      email,
      issuer,
      subject,
    ])
  expect(await signIn(first)).toBeNull()

  const { code, stderr } = await users('link', ada, second)
  const conflict = `${ada.email} is linked to the subject ${first}. Unlink it first: npm run users -- unlink`
  expect([code, stderr]).toEqual([2, `${conflict} ${ada.email} ${slug}\n`])
  expect(await linked()).toEqual([[ada.email, provider.issuer, first]])

  await unlinkUser(ada.id, id)
  expect((await users('link', bob, first)).stdout).toBe(
    `Linked ${bob.email} to the subject ${first} at ${slug}.\n`,
  )
  expect((await users('link', ada, second)).code).toBe(0)
  expect([await signIn(first), await signIn(second), await signIn(third)]).toEqual([
    null,
    null,
    'no_access',
  ])
  expect(await linked()).toContainEqual([ada.email, provider.issuer, second])
  expect(await linked()).toContainEqual([bob.email, provider.issuer, first])

  await unlinkUser(bob.id, id)
  const tenant = 'https://login.microsoftonline.com/tenant/v2.0'
  expect((await users('link', bob, first, '--issuer', tenant)).code).toBe(0)
  expect(await linked()).toContainEqual([bob.email, tenant, first])
  await provider.stop()
  await unlinkUser(ada.id, id)
  expect((await users('link', ada, third)).code, 'was rejected, so it is known').toBe(0)
  await unlinkUser(ada.id, id)
  expect((await users('link', ada, randomUUID())).stderr).toContain(
    `npm run connections -- check ${slug}`,
  )
})

test('disables, enables and removes a connection, and unlinks a user', async ({
  sql,
  url,
}) => {
  await addHere({ provision: true })
  const signIn = async () => {
    const visitor = new Visitor(url)
    const landing = await visitor.signIn(slug)
    return errorOf(landing) ?? (await visitor.exchange(landing)).status
  }
  expect(await signIn()).toBe(200)
  expect((await connections('disable', slug)).stdout).toContain(
    `Disabled ${slug}. Sessions ended: 1.`,
  )
  expect((await connections('enable', slug)).stdout).toContain(
    `Users can sign in through ${slug} again.`,
  )
  expect(await signIn()).toBe(200)

  const subject = String(provider.person.sub)
  const unlink = () => run(['users', 'unlink', String(provider.person.email), slug])
  const unlinked = (await unlink()).stdout
  expect(unlinked).toContain(`from ${slug}. Sessions ended: 1.`)
  expect(unlinked).toContain(
    `npm run users -- link ${provider.person.email} ${slug} ${subject}`,
  )
  expect((await unlink()).stdout).toContain('was not linked')
  provider.person.sub = randomUUID()
  expect(await signIn(), 'with another subject').toBe(200)
  expect((await connections('remove', slug)).stdout).toContain(
    `Removed ${slug}. Sessions ended: 1.`,
  )
  expect(await sql('SELECT 1 FROM identities WHERE subject = $1', [subject])).toEqual([])
  expect(
    await sql('SELECT 1 FROM users WHERE email = $1', [provider.person.email]),
  ).toHaveLength(1)
  expect(await signIn()).toBe('connection_unavailable')
})
