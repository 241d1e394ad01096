import { randomUUID } from 'node:crypto'
import { endSessions } from '../../lib/session/revoke'
import { issueIdentityCode } from '../../lib/sso/code'
import { findConnection } from '../../lib/sso/connection'
import { type Contact, findOrLinkUser } from '../../lib/sso/identity'
import { linkUser, unlinkUser } from '../../lib/sso/manage/connections'
import { type Sso, send, testWithSso } from '../support/browsers/sso-kinds'
import { errorOf, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { rounds } from '../support/databases/race'
import { expect, type Sql, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'

// Which user a sign-in finds, links or creates, and what happens to an account without
// access.

let { server, provider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, kinds } = sso))

// Links

const addUser = async (sql: Sql, email: string) =>
  (
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id`,
      [email],
    )
  )[0]!.id as string
const issuer = 'https://a.example'
/** Signs in through the connection as a person, and returns the result. */
const arrive = async (
  slug: string,
  subject: string,
  name: string,
  contact: Partial<Contact> = {},
  from = issuer,
) =>
  findOrLinkUser((await findConnection(slug))!, { issuer: from, subject }, async () => ({
    email: `${name}@${slug}.example.org`,
    isVerified: true,
    ...contact,
  }))

test('links a user of the domain by email address, but only to one person', async ({
  sql,
}) => {
  const slug = await connect(provider, { provision: false })
  const id = await addUser(sql, `ada@${slug}.example.org`)
  provider.person.email = `ADA@${slug}.Example.ORG`
  expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
  expect(await usersOf(sql, slug)).toMatchObject([
    { id, email: `ada@${slug}.example.org` },
  ])
  for (const [subject, name, check] of [
    ['the next person with this address', 'ada', 'identity_other_subject'],
    ['somebody', 'eve', 'identity_not_provisioned'],
  ] as const)
    await expect(arrive(slug, subject, name)).rejects.toMatchObject({
      check,
      error: 'no_access',
    })
  expect(await usersOf(sql, slug)).toHaveLength(1)
})

const unlinkable: Record<
  string,
  [check: string, contact: (domain: string) => Partial<Contact>]
> = {
  'an unverified address': ['email_unverified', () => ({ isVerified: false })],
  'an address of another domain': ['email_domain', () => ({ email: 'ada@example.com' })],
  'an address of a subdomain': [
    'email_domain',
    (domain) => ({ email: `ada@mail.${domain}` }),
  ],
  'two addresses': [
    'email_malformed',
    (domain) => ({ email: `eve@evil.example,ada@${domain}` }),
  ],
  'letters that only look like the address': [
    'email_malformed',
    (domain) => ({ email: `аda@${domain}` }),
  ],
  'a letter that becomes ASCII in lower case': [
    'email_malformed',
    (domain) => ({ email: `\u212Aelvin@${domain}` }),
  ],
  'a letter of full width': [
    'email_malformed',
    (domain) => ({ email: `\uff21da@${domain}` }),
  ],
  'two at signs': ['email_malformed', (domain) => ({ email: `a@b@${domain}` })],
  'two lines': [
    'email_malformed',
    (domain) => ({ email: `eve@evil.example\nada@${domain}` }),
  ],
  'a name in front': ['email_malformed', (domain) => ({ email: `Ada <ada@${domain}>` })],
  quotes: ['email_malformed', (domain) => ({ email: `"ada"@${domain}` })],
  'no-break space': ['email_malformed', (domain) => ({ email: `\u00a0ada@${domain}` })],
  'a domain with a path': ['email_malformed', (domain) => ({ email: `ada@${domain}/x` })],
  'an address of 270 characters': [
    'email_malformed',
    (domain) => ({ email: `${'a'.repeat(250)}@${domain}` }),
  ],
  'an address for which another tenant vouches': [
    'email_tenant',
    () => ({ domains: ['other.example'] }),
  ],
  // Google: a private account with a company address may belong to somebody outside the
  // company.
  'no hosted domain': ['email_hosted_domain', () => ({ hostedDomain: null })],
  'another hosted domain': ['email_hosted_domain', () => ({ hostedDomain: 'gmail.com' })],
  'a hosted domain with a NUL': [
    'email_hosted_domain',
    (domain) => ({ hostedDomain: `${domain}\0` }),
  ],
}
test('links or creates a user only with exactly one verified address of the domain', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const domain = `${slug}.example.org`
  const id = await addUser(sql, `ada@${domain}`)
  for (const [what, [check, contact]] of Object.entries(unlinkable))
    await expect(arrive(slug, 'one', 'ada', contact(domain)), what).rejects.toMatchObject(
      {
        check,
        error: 'no_access',
      },
    )
  expect(await usersOf(sql, slug)).toEqual([])
  expect(
    await arrive(slug, 'one', 'ada', { hostedDomain: domain, domains: [domain] }),
  ).toBe(id)
})

test('identifies a linked user by connection, issuer and subject, without an email address', async () => {
  const [slug, other] = [
    await connect(provider, { allowPasswords: true }),
    await connect(provider),
  ]
  const id = await arrive(slug, 'one', 'ada')
  const unexpected = () => Promise.reject(new Error('asked for the address'))
  expect(
    await findOrLinkUser(
      (await findConnection(slug))!,
      { issuer, subject: 'one' },
      unexpected,
    ),
  ).toBe(id)
  const others = [
    await arrive(other, 'one', 'ada'),
    await arrive(slug, 'one', 'bob', {}, 'https://b.example'),
    await arrive(slug, 'two', 'eve'),
  ]
  expect(new Set([id, ...others]).size).toBe(4)
})

test('ignores letter case only in subjects that are email addresses', async ({ sql }) => {
  const slug = await connect(provider)
  const connection = (await findConnection(slug))!
  const domain = `${slug}.example.org`
  const signIn = (subject: string, name: string, isEmail = true) =>
    findOrLinkUser(connection, { issuer, subject, isEmail }, async () => ({
      email: `${name}@${domain}`,
      isVerified: true,
    }))
  const id = await signIn(`Ada.Lovelace@${domain}`, 'ada')
  for (const subject of [
    `ada.lovelace@${domain}`,
    `ADA.Lovelace@${domain.toUpperCase()}`,
  ]) {
    expect(await signIn(subject, 'somebody-else')).toBe(id)
    await expect(signIn(subject, 'ada', false)).rejects.toMatchObject({
      check: 'identity_other_subject',
    })
    const identity = { issuer, subject }
    expect(
      await issueIdentityCode(id, connection.id, { ...identity, isEmail: true }),
    ).toBeTruthy()
    await expect(issueIdentityCode(id, connection.id, identity)).rejects.toMatchObject({
      check: 'identity_unlinked',
    })
  }
  const others = await Promise.all(
    [
      `ada_lovelace@${domain}`, // an underscore is a wildcard of LIKE
      `%@${domain}`,
      `ad\u0430.lovelace@${domain}`,
      `ada.love\u017Face@${domain}`, // becomes an S in upper case
      `ada.love\u0130ace@${domain}`,
    ].map((subject, index) => signIn(subject, `other-${index}`)),
  )
  expect(new Set([id, ...others]).size).toBe(6)

  // An exact match is preferred. Otherwise, there must be only one match in another
  // letter case.
  const upper = await signIn(`BOB@${domain}`, 'bob-1', false)
  const title = await signIn(`Bob@${domain}`, 'bob-2', false)
  expect([
    await signIn(`BOB@${domain}`, 'x'),
    await signIn(`Bob@${domain}`, 'x'),
  ]).toEqual([upper, title])
  await expect(signIn(`bob@${domain}`, 'bob-1')).rejects.toMatchObject({
    check: 'identity_other_subject',
  })

  await unlinkUser(id, connection.id)
  await expect(signIn(`ADA.LOVELACE@${domain}`, 'new')).rejects.toMatchObject({
    check: 'subject_unlinked',
  })
  const spellings = ['eve', 'Eve', 'EVE', 'eVe'].map((name, index) =>
    signIn(`${name}@${domain}`, `eve-${index}`),
  )
  expect(
    new Set(await Promise.all(spellings)).size,
    'the first sign-ins take turns',
  ).toBe(1)
  expect(
    await sql(`SELECT 1 FROM identities WHERE lower(subject) = $1`, [`eve@${domain}`]),
  ).toHaveLength(1)
})

test('rejects an unlinked subject until it is linked again, and links one subject to one user', async () => {
  const slug = await connect(provider)
  const { id: connectionId } = (await findConnection(slug))!
  const link = (id: string, subject: string) =>
    linkUser(id, { id: connectionId, slug }, { issuer, subject })
  const [ada, bob] = [
    await arrive(slug, 'one', 'ada'),
    await arrive(slug, 'other', 'bob'),
  ]
  expect(await unlinkUser(ada, connectionId)).toEqual({ subject: 'one', ended: 0 })
  for (const name of ['ada', 'eve'])
    await expect(arrive(slug, 'one', name)).rejects.toMatchObject({
      check: 'subject_unlinked',
    })
  expect(await arrive(slug, 'two', 'ada')).toBe(ada)
  const advice = `Unlink it first: npm run users -- unlink ada@${slug}.example.org ${slug}`
  await expect(link(ada, 'three')).rejects.toThrow(advice)
  await unlinkUser(bob, connectionId)
  await expect(link(bob, 'two')).rejects.toThrow(advice)
  await unlinkUser(ada, connectionId)
  for (let times = 0; times < 2; times++) await link(ada, 'one')
  expect(await arrive(slug, 'one', 'bob')).toBe(ada)
  await expect(arrive(slug, 'two', 'ada')).rejects.toMatchObject({
    check: 'subject_unlinked',
  })
})

test('concurrent first sign-ins create one user per subject, and link only one of two subjects', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const slug = await connect(provider)
    const ids = await Promise.all(
      ['ada', 'ada', 'bob', 'bob'].map((name) => arrive(slug, 'one', name)),
    )
    expect(new Set(ids).size).toBe(1)
    expect(await usersOf(sql, slug)).toHaveLength(1)
    expect(
      await sql('SELECT 1 FROM users WHERE email LIKE $1', [`%@${slug}.example.org`]),
    ).toHaveLength(1)
    const outcomes = await Promise.allSettled(
      ['two', 'three'].map((subject) => arrive(slug, subject, 'eve')),
    )
    const rejected = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? outcome.reason.check : [],
    )
    expect(rejected).toEqual(['identity_other_subject'])
  }
})

test('treats the Unicode and the ASCII form of a domain as the same, and creates no second user', async ({
  sql,
}) => {
  const domain = `${randomUUID()}.example.org`
  const slug = await connect(provider, { domains: [`xn--bcher-kva.${domain}`] })
  const bob = await addUser(sql, `bob@bücher.${domain}`)
  const ada = await arrive(slug, 'one', 'ada', { email: `ada@Bücher.${domain}` })
  expect(await arrive(slug, 'two', 'bob', { email: `bob@xn--bcher-kva.${domain}` })).toBe(
    bob,
  )
  expect(
    await sql('SELECT id, email FROM users WHERE email LIKE $1 ORDER BY email', [
      `%.${domain}`,
    ]),
  ).toEqual([
    { id: ada, email: `ada@xn--bcher-kva.${domain}` },
    { id: bob, email: `bob@bücher.${domain}` },
  ])
})

test('rejects a disabled user at the first sign-in and at later ones', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const id = await addUser(sql, `ada@${slug}.example.org`)
  for (const linked of [0, 1]) {
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [id])
    await expect(arrive(slug, 'one', 'ada')).rejects.toMatchObject({
      check: 'user_disabled',
      error: 'no_access',
    })
    expect(await usersOf(sql, slug)).toHaveLength(linked)
    await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [id])
    expect(await arrive(slug, 'one', 'ada')).toBe(id)
  }
})

// Accounts without access

const everyPrompt = (genuine: Record<string, unknown>) => ({
  ...genuine,
  prompt_values_supported: ['none', 'login', 'select_account'],
})
const readPage = async (visitor: Visitor, path = '/sso/callback?error=no_access') =>
  (await (await visitor.request(path)).text()).replaceAll('<wbr/>', '')
const named = (address: string) =>
  `<bdi class="account" translate="no">${keepSecret(address)}</bdi>`

for (const [name, asked] of [
  ['OpenID Connect', ['select_account', 'login']],
  ['SAML', ['true', 'true']],
] as const)
  test(`${name}: an account without access is named on the page, can be replaced with its link, and only the next sign-in asks for another`, async () => {
    provider.behavior.metadata = everyPrompt
    const kind = kinds[name]
    const slug = await kind.connect({ provision: false })
    const start = `/api/auth/sso/${slug}/start`
    const account = named(`ada@${slug}.example.org`)
    const visitor = new Visitor(server.url)
    const request = await visitor.start(slug, '/reports')
    expect(kind.readAsk(request)).toBeNull()
    const landing = await send(visitor, await kind.answer(slug, request))
    expect(landing.pathname + landing.search).toBe(
      '/sso/callback?error=no_access&next=%2Freports',
    )

    const html = await readPage(visitor, landing.pathname + landing.search)
    expect(html).toContain(account)
    const links = [...html.matchAll(/<a class="button[^"]*" href="([^"]+)">([^<]+)/g)]
    expect(links.map(([, href, label]) => [label, href])).toEqual([
      ['Sign in again', `${start}?next=%2Freports`],
      ['Sign in another way', '/sign-in?next=%2Freports'],
    ])
    const others = ['', '?error=other', '?error=access_denied']
    for (const query of others) {
      const other = await readPage(visitor, `/sso/callback${query}`)
      expect(other, query).not.toContain(account)
      expect(other, query).not.toContain(start)
    }
    expect(await readPage(new Visitor(server.url))).toContain(
      'your account can’t be used with Dashboard',
    )

    const again = await visitor.open(links[0]![1]!)
    expect(kind.readAsk(again)).toBe(asked[0])
    expect(kind.readAsk(await visitor.start(slug))).toBeNull()
    const forgotten = await readPage(visitor)
    expect(forgotten).not.toContain(account)
    expect(forgotten).not.toContain(start)
    visitor.cookies.set('ask', 'ask-login.') // the cookie that a page sets after a sign-out
    expect(kind.readAsk(await visitor.start(slug))).toBe(asked[1])
    expect(kind.readAsk(await visitor.start(slug))).toBeNull()
  })

test('an account is named by its user name, or by the address in the user info', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const address = provider.person.email as string
  provider.behavior = {
    claims: ({ email: _, ...claims }) => claims,
    userInfo: (genuine) => genuine,
  }
  expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
  await sql('UPDATE users SET disabled_at = now() WHERE email = $1', [address])
  const disabled = new Visitor(server.url)
  expect(errorOf(await disabled.signIn(slug))).toBe('no_access')
  expect(await readPage(disabled)).toContain(named(address))

  const preferred_username = 'eve@other.example'
  provider.person = { sub: randomUUID(), preferred_username }
  const visitor = new Visitor(server.url)
  expect(errorOf(await visitor.signIn(slug))).toBe('no_access')
  expect(await readPage(visitor)).toContain(named(preferred_username))
})

test('a page makes the provider ask at the next sign-in after a sign-out without a live session', async () => {
  const visitor = new Visitor(server.url)
  const see = async (path: string, cookies = '') => {
    const response = await fetch(server.url + path, {
      headers: { Cookie: cookies, 'X-Forwarded-For': newAddress() },
    })
    return response.headers.getSetCookie().filter((cookie) => cookie.startsWith('ask='))
  }
  const { body } = await visitor.exchange(await visitor.signIn(await connect(provider)))
  expect(await see('/?signed-out', `session=${body.token}`)).toEqual([])
  expect(await see('/?signed-out', `refresh=${body.refreshToken}`)).toEqual([])
  for (const path of ['/', '/sign-in?signed-out'])
    expect(await see(path), path).toEqual([])
  // like a sign-out at a dashboard, which deletes no cookies
  const claims = Buffer.from(body.token!.split('.')[1]!, 'base64url').toString()
  await endSessions([JSON.parse(claims).sid])
  expect(
    await see('/?signed-out', `session=${body.token}; refresh=${body.refreshToken}`),
  ).toHaveLength(1)
  const [marked] = await see('/?signed-out')
  expect(marked).toBe(
    `ask=ask-login.; Path=/; Max-Age=${90 * 24 * 60 * 60}; HttpOnly; SameSite=Lax`,
  )
})
