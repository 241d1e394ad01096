import { generateKeyPair, SignJWT } from 'jose'
import { signId } from '../../lib/crypto/token'
import { deriveKey } from '../../lib/settings/encryption-keys'
import { env } from '../../lib/settings/env'
import { disableConnection, listConnections } from '../../lib/sso/manage/connections'
import {
  type Answer,
  type Kind,
  kindNames,
  type Sso,
  testWithSso,
  withState,
} from '../support/browsers/sso-kinds'
import { codesOf, errorOf, logLine, Visitor } from '../support/browsers/sso-visitor'
import { openReport, testPath } from '../support/browsers/test-sign-in'
import { connect } from '../support/databases/connection'
import { connectionState } from '../support/databases/sign-ins'
import { expect, type Sql, test } from '../support/fixtures'
import {
  type Behavior,
  clientSecret,
  kid,
  signed,
} from '../support/providers/oidc-provider'
import {
  modes,
  newSamlProvider,
  type ResponseOptions,
  replace,
} from '../support/providers/saml-provider'

// Test sign-ins: they sign nobody in, and show what a sign-in would do.

let { server, provider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, kinds } = sso))

/** Starts a test as a new visitor, and continues until the provider's answer. */
async function begin(sql: Sql, kind: Kind, slug: string, options?: ResponseOptions) {
  const visitor = new Visitor(server.url)
  const request = await visitor.open(await testPath(sql, slug))
  const answer = await kind.answer(slug, request, { assertion: true, ...options })
  return { visitor, request, answer }
}

const send = (visitor: Visitor, { path, form }: Answer) => openReport(visitor, path, form)

/** Expects that a test has left no row but its attempt. */
async function expectNothingStored(sql: Sql, slug: string): Promise<void> {
  expect(await connectionState(sql, slug)).toEqual({
    users: [],
    identities: [],
    sessions: [],
    signIns: [{ claimed: true }],
  })
  expect(await codesOf(sql, slug)).toEqual([])
  const ofConnection = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
  expect(
    await sql(`SELECT FROM rejected_sign_ins WHERE ${ofConnection}`, [slug]),
  ).toEqual([])
}

const wasTried = async (sql: Sql, slug: string) =>
  (await sql('SELECT FROM connections WHERE slug = $1 AND tried_at IS NOT NULL', [slug]))
    .length === 1

const now = () => Math.floor(Date.now() / 1000)

type Case = {
  check: string
  behavior?: Behavior
  person?: Record<string, unknown>
  /** Texts on the page. */
  shown: string[]
  /** The label of the failed step. */
  step: RegExp
}

const idTokenStep = /The ID token is for this sign-in, and its signature is valid: failed/

const oidcCases: Record<string, Case> = {
  'another audience': {
    check: 'id_token_aud',
    behavior: { claims: (claims) => ({ ...claims, aud: 'another-client' }) },
    shown: [
      'ours the-client',
      'received, other than expected another-client',
      'Received (not verified)',
    ],
    step: idTokenStep,
  },
  'another issuer': {
    check: 'id_token_iss',
    behavior: { claims: (claims) => ({ ...claims, iss: 'https://other.example' }) },
    shown: ['received, other than expected https://other.example'],
    step: idTokenStep,
  },
  'an unknown key': {
    check: 'id_token_signature',
    behavior: {
      sign: async (claims) => signed(claims, await generateKeyPair('RS256')),
    },
    shown: ['Received (not verified)', 'alg RS256', `kid ${kid}`],
    step: idTokenStep,
  },
  HS256: {
    check: 'id_token_alg',
    behavior: {
      sign: (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(clientSecret)),
    },
    shown: ['alg HS256', 'choose an RSA or EC key there'],
    step: idTokenStep,
  },
  'an encrypted ID token': {
    check: 'id_token_encrypted',
    behavior: { sign: () => `${'e30.'.repeat(4)}e30` },
    shown: ['switch its encryption off there'],
    step: idTokenStep,
  },
  'a clock that is ahead': {
    check: 'id_token_iat',
    behavior: { claims: (claims) => ({ ...claims, iat: now() + 200 }) },
    shown: ['seconds ahead of ours. Correct the wrong clock'],
    step: /The claims of the ID token are accepted: failed/,
  },
  'a clock that is behind': {
    check: 'id_token_exp',
    behavior: { claims: (claims) => ({ ...claims, iat: now() - 500, exp: now() - 200 }) },
    shown: ['seconds behind ours. Correct the wrong clock'],
    step: idTokenStep,
  },
  'no address': {
    check: 'email_missing',
    person: { email: undefined },
    shown: ['no email address that can be used'],
    step: /The email address can be used: failed/,
  },
  'two addresses': {
    check: 'email_several',
    person: { email: ['a@one.example', 'b@two.example'] },
    shown: ['name one with --email-claim', 'a@one.example'],
    step: /The email address can be used: failed/,
  },
  'an address of another domain': {
    check: 'email_domain',
    person: { email: 'ada@elsewhere.example' },
    shown: [
      'email address ada@elsewhere.example',
      'where the address came from email (ID token)',
      'domain not of this connection',
    ],
    step: /The email address can be used: failed/,
  },
  'an unverified address': {
    check: 'email_unverified',
    person: { email_verified: false },
    shown: ['counts as verified no', 'email_verified false'],
    step: /The email address can be used: failed/,
  },
  'a wrong client secret': {
    check: 'token_invalid_client',
    behavior: {
      tokenAuth: 'post',
    },
    shown: ['error invalid_client', '--token-auth post or basic'],
    step: /The provider exchanges the code for an ID token: failed/,
  },
  'an error of the provider': {
    check: 'provider_access_denied',
    behavior: {
      response: (parameters) => {
        parameters.delete('code')
        parameters.set('error', 'access_denied')
        parameters.set('error_description', 'Ada is not assigned')
      },
    },
    shown: ['error access_denied', 'error_description Ada is not assigned'],
    step: /The provider reports no error: failed/,
  },
  'a response without state': {
    check: 'state_missing',
    behavior: { response: (parameters) => parameters.delete('state') },
    shown: ['The response did not refer to our request'],
    step: /The response refers to our request: failed/,
  },
}

for (const [name, { check, behavior = {}, person = {}, shown, step }] of Object.entries(
  oidcCases,
))
  test(`OpenID Connect: shows ${name}, and stores nothing`, async ({ sql }) => {
    const slug = await connect(provider)
    provider.behavior = behavior
    Object.assign(provider.person, person)
    const { visitor, answer } = await begin(sql, kinds['OpenID Connect'], slug)
    const { status, text, cookies } = await send(visitor, answer)

    expect(status).toBe(200)
    expect(text).toMatch(/^The sign-in would be rejected /)
    expect(text).toContain(`Check: ${check} `)
    for (const each of shown) expect(text).toContain(each)
    expect(text).toMatch(step)
    expect(text.match(/: failed/g)).toHaveLength(1)
    expect(cookies.filter((cookie) => cookie !== 'try=')).toEqual([])
    const line = await logLine(visitor, server)
    expect(line).toMatchObject({ connection: slug, check, try: true })
    for (const field of ['userId', 'advice']) expect(line).not.toHaveProperty(field)

    if (check !== 'state_missing') await expectNothingStored(sql, slug)
    expect(await wasTried(sql, slug)).toBe(false)
  })

const wrongKey = async () => {
  const { privateKey, nextKey } = await newSamlProvider({ isOther: true })
  return { signing: { privateKey, certificate: nextKey.certificate } }
}

const assertionStep = /The assertion is for us, valid now, and has a NameID: failed/
const readStep = /The response can be read, and is for this sign-in: failed/
const signatureStep = /The assertion can be decrypted, and its signature is valid: failed/

type SamlCase = Omit<Case, 'behavior' | 'person'> & {
  options: () => ResponseOptions | Promise<ResponseOptions>
}

const samlCases: Record<string, SamlCase> = {
  'another audience': {
    check: 'saml_audience',
    options: () => ({
      edit: replace(/<saml:Audience>[^<]*/, '<saml:Audience>https://other.example'),
    }),
    shown: ['received, other than expected https://other.example', '/metadata'],
    step: assertionStep,
  },
  'another destination': {
    check: 'saml_destination',
    options: () => ({
      edit: replace(/Destination="[^"]*"/, 'Destination="https://other.example/acs"'),
    }),
    shown: ['received, other than expected https://other.example/acs'],
    step: readStep,
  },
  'another recipient': {
    check: 'saml_recipient',
    options: () => ({
      edit: replace(/Recipient="[^"]*"/, 'Recipient="https://other.example/acs"'),
    }),
    shown: ['received, other than expected https://other.example/acs'],
    step: assertionStep,
  },
  'another issuer': {
    check: 'saml_issuer',
    options: () => ({
      edit: (xml) => xml.replaceAll(/<saml:Issuer>[^<]*/g, '<saml:Issuer>urn:other'),
    }),
    shown: ['received, other than expected urn:other'],
    step: readStep,
  },
  'an unknown key': {
    check: 'saml_signature',
    options: wrongKey,
    shown: ['Received (not verified)', 'certificate in the assertion', 'NameID ada'],
    step: signatureStep,
  },
  'SHA-1': {
    check: 'saml_algorithm',
    options: () => ({
      signing: { signatureMethod: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' },
    }),
    shown: ['algorithm, assertion http://www.w3.org/2000/09/xmldsig#rsa-sha1'],
    step: signatureStep,
  },
  'a clock that is ahead': {
    check: 'saml_time',
    options: () => ({ notBefore: 200 }),
    shown: ['NotBefore of Conditions'],
    step: assertionStep,
  },
  'a clock that is behind': {
    check: 'saml_not_on_or_after',
    options: () => ({
      notOnOrAfter: -200,
      edit: (xml) =>
        xml.replaceAll(
          /IssueInstant="[^"]*"/g,
          `IssueInstant="${new Date(Date.now() - 500_000).toISOString()}"`,
        ),
    }),
    shown: ['500 seconds behind ours. Correct the wrong clock'],
    step: assertionStep,
  },
  'an error of the provider': {
    check: 'saml_status',
    options: () => ({
      edit: replace(
        /<samlp:StatusCode [^>]*>/,
        '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/><samlp:StatusMessage>Ada is not assigned</samlp:StatusMessage>',
      ),
    }),
    shown: ['status:Responder', 'StatusMessage Ada is not assigned'],
    step: /The provider reports no error: failed/,
  },
  'a transient NameID': {
    check: 'saml_transient',
    options: () => ({
      edit: replace(/nameid-format:persistent/, 'nameid-format:transient'),
    }),
    shown: ['choose persistent at the provider', '--name-id-format persistent'],
    step: assertionStep,
  },
  'no address': {
    check: 'email_missing',
    options: () => ({ edit: replace(/Name="mail"/, 'Name="other"'), email: 'Ada' }),
    shown: ['no email address that can be used', 'other Ada'],
    step: /The email address can be used: failed/,
  },
  'an address under another name': {
    check: 'email_elsewhere',
    options: () => ({ edit: replace(/Name="mail"/, 'Name="other"') }),
    shown: ['--email-attribute NAME'],
    step: /The email address can be used: failed/,
  },
  'an address of another domain': {
    check: 'email_domain',
    options: () => ({ email: 'ada@elsewhere.example' }),
    shown: [
      'where the address came from mail (attributes)',
      'domain not of this connection',
      'imported certificate that fits, assertion',
    ],
    step: /The email address can be used: failed/,
  },
}

for (const [name, { check, options, shown, step }] of Object.entries(samlCases))
  test(`SAML: shows ${name}, and stores nothing`, async ({ sql }) => {
    const kind = kinds.SAML
    const slug = await kind.connect()
    const { visitor, answer } = await begin(sql, kind, slug, await options())
    const { status, text } = await send(visitor, answer)

    expect(status).toBe(200)
    expect(text).toContain(`Check: ${check} `)
    for (const each of shown) expect(text).toContain(each)
    expect(text).toMatch(step)
    expect(await logLine(visitor, server)).toMatchObject({ check, try: true })
    await expectNothingStored(sql, slug)
    expect(await wasTried(sql, slug)).toBe(false)
  })

for (const name of kindNames) {
  test(`${name}: shows what the sign-in of an unknown, a known and a linked user would do`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const email = `ada@${slug}.example.org`
    provider.person.email = email
    const test = async () => {
      const { visitor, answer } = await begin(sql, kind, slug, { email })
      const { text } = await send(visitor, answer)
      expect(text).toMatch(/^The sign-in would work /)
      expect(text).not.toMatch(/: (failed|not reached)/)
      expect(text).toContain('domain live')
      const line = await logLine(visitor, server)
      expect(line).toMatchObject({ connection: slug, try: true })
      for (const field of ['check', 'userId']) expect(line).not.toHaveProperty(field)
      return text
    }

    expect(await wasTried(sql, slug)).toBe(false)
    expect(await test()).toContain(`Would create ${email}`)
    await expectNothingStored(sql, slug)
    expect(await wasTried(sql, slug)).toBe(true)

    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
      [email],
    )
    expect(await test()).toContain(`Would link ${email} to this account`)
    expect((await connectionState(sql, slug)).identities).toEqual([])

    const visitor = new Visitor(server.url)
    const answer = await kind.answer(slug, await visitor.start(slug), {
      assertion: true,
      email,
    })
    expect(errorOf(await visitor.open(answer.path, answer.form))).toBeNull()
    expect(await test()).toContain(`Would sign in ${email} (linked)`)
    expect(await codesOf(sql, slug)).toHaveLength(1)
  })

  test(`${name}: works for a disabled connection, which signs nobody in`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const [connection] = await listConnections(slug)
    const real = new Visitor(server.url)
    const begun = await kind.answer(slug, await real.start(slug), { assertion: true })
    await disableConnection(connection!)

    const { visitor, answer } = await begin(sql, kind, slug)
    expect((await send(visitor, answer)).text).toMatch(/^The sign-in would /)
    expect(errorOf(await real.open(begun.path, begun.form))).toBe(
      'connection_unavailable',
    )
    expect((await logLine(real, server)).check).toBe('connection')
    expect(errorOf(await new Visitor(server.url).start(slug))).toBe(
      'connection_unavailable',
    )
    expect(await codesOf(sql, slug)).toEqual([])
  })

  test(`${name}: a link that has expired, was changed, or is for another connection starts no test`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const [slug, other] = [await kind.connect(), await kind.connect()]
    const [connection] = await listConnections(slug)
    const keys = env().ENCRYPTION_KEY!.map((key) => deriveKey(key, 'sso-try-v1'))
    const id = connection!.id.replaceAll('-', '')
    const path = `/api/auth/sso/${slug}/start?try=`
    const valid = await testPath(sql, slug)
    const changed = valid.endsWith('A')
      ? `${valid.slice(0, -1)}B`
      : `${valid.slice(0, -1)}A`
    for (const invalid of [
      path + signId(keys, id, now() - 1, 'sso-try'),
      path + signId(keys, id, now() + 60, 'another purpose'),
      (await testPath(sql, other)).replace(other, slug),
      changed,
      path,
    ]) {
      const visitor = new Visitor(server.url)
      const { status, text, cookies } = await openReport(visitor, invalid)
      expect([status, cookies]).toEqual([400, []])
      expect(text).toContain(`npm run connections -- try ${slug}`)
      expect((await logLine(visitor, server)).check).toBe('test_link')
    }
    expect((await connectionState(sql, slug)).signIns).toEqual([])
    await disableConnection(connection!)
    expect(errorOf(await new Visitor(server.url).open(path))).toBe(
      'connection_unavailable',
    )
  })

  for (const state of ['enabled', 'disabled'])
    test(`${name}, ${state}: a response without its state shows that, and starts no sign-in`, async ({
      sql,
    }) => {
      const kind = kinds[name]
      const slug = await kind.connect()
      if (state === 'disabled') await disableConnection((await listConnections(slug))[0]!)
      const { visitor, answer } = await begin(sql, kind, slug)
      const without = withState(answer, kind.state, null)
      let page = await openReport(visitor, without.path, without.form)
      if (page.status === 303) {
        const { pathname, search } = new URL(page.headers.get('location')!, server.url)
        page = await openReport(visitor, pathname + search)
      }
      expect(page.status).toBe(200)
      expect(page.text).toContain('The response did not refer to our request')
      expect((await logLine(visitor, server)).try).toBe(true)
      expect((await connectionState(sql, slug)).signIns).toEqual([{ claimed: false }])
    })

  test(`${name}: a reload of the result shows that the response was used, and starts no sign-in`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(sql, kind, slug)
    await send(visitor, answer)
    visitor.cookies.delete('try')
    const again = await send(visitor, answer)
    expect(again.status).toBe(200)
    expect(again.text).toContain('Check: state_used ')
    expect((await connectionState(sql, slug)).signIns).toEqual([{ claimed: true }])
  })

  test(`${name}: another browser gets no result of an OpenID provider, and a test needs only its own cookie`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(sql, kind, slug)
    expect([...visitor.cookies.keys()]).toEqual(['try'])
    if (answer.form) return // a cross-site POST has no cookies

    const stranger = await send(new Visitor(server.url), answer)
    expect(stranger.text).toContain('Check: state_browser ')
    expect(stranger.text).not.toContain(`ada@${slug}`)
    expect((await send(visitor, answer)).text).toMatch(/^The sign-in would work /)
  })

  test(`${name}: a real sign-in after a test begins again as usual`, async ({ sql }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor } = await begin(sql, kind, slug) // is left at the provider
    const started = await visitor.request(`/api/auth/sso/${slug}/start`)
    expect(started.headers.getSetCookie().join()).toContain('try=; ')
    visitor.cookies.delete('try')
    const request = await visitor.start(slug)
    const answer = await kind.answer(slug, request, { assertion: true })
    const without = withState(answer, kind.state, null)
    const landing = await visitor.open(without.path, without.form)
    expect(landing.pathname).toBe(`/api/auth/sso/${slug}/start`)
  })
}

for (const [
  mode,
  { response = false, assertion = false, encrypted = false },
] of Object.entries(modes))
  test(`SAML: shows which certificate fits ${mode}`, async ({ sql }) => {
    const slug = await kinds.SAML.connect()
    const options = { response, assertion, encrypted, email: `ada@${slug}.example.org` }
    const { visitor, answer } = await begin(sql, kinds.SAML, slug, options)
    const { text } = await send(visitor, answer)
    expect(text).toMatch(/^The sign-in would work /)
    for (const [part, isSigned] of Object.entries({ response, assertion }))
      expect(text.includes(`imported certificate that fits, ${part}`)).toBe(isSigned)
    expect(text.includes('EncryptedAssertion yes')).toBe(encrypted)
    expect(text).toContain(`mail ada@${slug}.example.org`)
  })

test('HTML in claims, their names and errors is text', async ({ sql }) => {
  const slug = await connect(provider)
  const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script>`
  const [sub, email] = [hostile, `${hostile}@x.example`]
  const nested = { [hostile]: [hostile] }
  provider.behavior = {
    claims: (claims) => ({ ...claims, sub, email, [hostile]: hostile, nested }),
  }
  const first = await begin(sql, kinds['OpenID Connect'], slug)
  const claims = await send(first.visitor, first.answer)
  expect(claims.text).toContain(`subject ${hostile}`)
  expect(claims.text).toContain(`${hostile} ${hostile}`)

  provider.behavior = {
    response: (parameters) => {
      parameters.set('error', hostile)
      parameters.set('error_description', hostile)
    },
  }
  const second = await begin(sql, kinds['OpenID Connect'], slug)
  const error = await send(second.visitor, second.answer)
  expect(error.text).toContain(`error_description ${hostile}`)
  for (const { html } of [claims, error]) {
    expect(html).not.toContain('<img')
    expect(html.match(/<script/g)).toHaveLength(1)
  }
})

test('shows no token, code or secret, and does not cache the page', async ({ sql }) => {
  const slug = await connect(provider)
  let tokens: Record<string, unknown> = {}
  provider.behavior = {
    token: (genuine) => {
      tokens = genuine
      return { body: { ...genuine, refresh_token: 'a-refresh-token' } }
    },
    claims: (claims) => ({
      ...claims,
      ...{
        secret: clientSecret,
        nested: { again: claims.nonce },
        jwt: `eyJ${'a'.repeat(12)}.eyJ9.x`,
      },
      visible: 'a visible claim',
    }),
  }
  const { visitor, request, answer } = await begin(sql, kinds['OpenID Connect'], slug)
  const { html, text, headers } = await send(visitor, answer)
  expect(text).toMatch(/^The sign-in would work /)
  expect(text).toContain('a visible claim')
  const { searchParams } = new URL(answer.path, server.url)
  const hidden = [
    searchParams.get('code'),
    searchParams.get('state'),
    request.searchParams.get('nonce'),
    clientSecret,
    ...Object.values(tokens).filter((each) => String(each).length > 10),
    'a-refresh-token',
    'eyJaaaa',
  ]
  for (const secret of hidden) expect(html).not.toContain(secret)
  expect(headers.get('cache-control')).toContain('no-store')
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; /)
})

test('shows at most 100 values of 500 characters', async ({ sql }) => {
  const slug = await connect(provider)
  const many = Array.from({ length: 120 }, (_, index) => [
    `claim-${index}`,
    'x'.repeat(600),
  ])
  provider.behavior = { claims: (claims) => ({ ...claims, ...Object.fromEntries(many) }) }
  const { visitor, answer } = await begin(sql, kinds['OpenID Connect'], slug)
  const { text } = await send(visitor, answer)
  expect(text.match(/claim-\d+ x+ …/g)!.length).toBeLessThan(100)
  expect(text).toMatch(/And \d+ more values\./)
  expect(text).not.toContain('x'.repeat(501))
})

test('a start that can’t reach the provider shows that', async ({ sql }) => {
  const slug = await connect(provider)
  provider.behavior = {
    metadata: (genuine) => ({ ...genuine, issuer: 'https://other.example' }),
  }
  const visitor = new Visitor(server.url)
  const { status, text } = await openReport(visitor, await testPath(sql, slug))
  expect(status).toBe(200)
  expect(text).toContain('Check: discovery_issuer ')
  expect(text).toMatch(
    /The provider can be reached, and its metadata can be used: failed/,
  )
  expect(errorOf(await new Visitor(server.url).start(slug))).toBe(
    'temporarily_unavailable',
  )
})
