import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { describeCertificate } from '../../lib/sso/saml/certificates'
import { newKeyPair } from '../../lib/sso/saml/key-pair'
import { responseTo, SamlVisitor } from '../support/browsers/saml-visitor'
import { errorOf } from '../support/browsers/sso-visitor'
import { expect, test } from '../support/fixtures'
import {
  newSamlProvider,
  type ResponseOptions,
  type SamlProvider,
} from '../support/providers/saml-provider'
import { runScript } from '../support/servers/command'
import { listen } from '../support/servers/listen'

const connections = (parameters: string[], stdin = '') =>
  runScript(['connections', ...parameters], stdin)

let provider: SamlProvider
let expired: Awaited<ReturnType<typeof newKeyPair>>
let slug: string
let domain: string
test.beforeAll(async () => {
  expired = await newKeyPair('idp', new Date('2010-01-01T00:00:00Z'))
})
test.beforeEach(async () => {
  provider = await newSamlProvider()
  slug = `cli-${randomBytes(6).toString('hex')}`
  domain = `${slug}.example.org`
})

type Metadata = {
  entityId?: string
  ssoUrl?: string
  certificates?: string[]
  attributes?: string
}

function metadataOf(
  { settings: own }: SamlProvider,
  { entityId, ssoUrl, certificates, attributes = '' }: Metadata = {},
): string {
  const keys = (certificates ?? own.certificates).map(
    (pem) =>
      `<KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${pem.replace(/-----.*-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>`,
  )
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId ?? own.issuer}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"${attributes}>${keys.join('')}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${ssoUrl ?? own.ssoUrl}"/></IDPSSODescriptor></EntityDescriptor>`
}

const add = (more: string[] = [], metadata = metadataOf(provider)) =>
  connections(
    ['add', 'saml', slug, '--metadata', '-', '--domain', domain, ...more],
    metadata,
  )

async function signIn(
  url: string,
  signing: ResponseOptions['signing'] = {},
): Promise<string | null> {
  const visitor = new SamlVisitor(url)
  const begun = await visitor.begin(slug)
  Object.assign(provider.settings, {
    entityId: `${url}/api/auth/sso/${slug}/metadata`,
    acsUrl: `${url}/api/auth/sso/${slug}/acs`,
  })
  return errorOf(
    await visitor.deliver(
      begun,
      responseTo(provider, begun, { assertion: true, signing }),
    ),
  )
}

const certificateLines = (output: string) =>
  output.split('\n').filter((line) => /^ *certificate/i.test(line))

test('adds a working connection, and updates the certificate of the provider', async ({
  sql,
  url,
}, testInfo) => {
  const file = testInfo.outputPath('idp.xml')
  writeFileSync(file, metadataOf(provider))
  const added = await connections([
    'add',
    'saml',
    slug,
    '--metadata',
    file,
    '--domain',
    domain,
    '--provision',
  ])
  expect([added.code, added.stderr]).toEqual([0, ''])
  for (const text of [
    `Added ${slug}.`,
    `${url}/api/auth/sso/${slug}/metadata`,
    `${url}/api/auth/sso/${slug}/acs`,
    'the response, the assertion, or both, with RSA-SHA256',
    'requests                     not signed',
  ])
    expect(added.stdout).toContain(text)
  const [row] = await sql('SELECT kind, settings FROM connections WHERE slug = $1', [
    slug,
  ])
  const { issuer, ssoUrl, certificates } = provider.settings
  expect(row).toMatchObject({
    kind: 'saml',
    settings: { issuer, ssoUrl, certificates, signed: 'either', signRequests: false },
  })
  expect(await signIn(url)).toBeNull()

  const { nextKey } = provider
  expect(await signIn(url, nextKey)).toBe('response_invalid')
  const both = metadataOf(provider, {
    certificates: [...certificates, nextKey.certificate],
  })
  const updated = await connections(
    ['update', slug, '--metadata', '-', '--by', 'Grace'],
    both,
  )
  expect([updated.code, updated.stderr]).toEqual([0, ''])
  expect(certificateLines(updated.stdout)).toEqual([
    `  certificate added: ${describeCertificate(nextKey.certificate)}`,
    `Certificate kept: ${describeCertificate(certificates[0]!)}`,
  ])
  for (const key of [{}, nextKey]) expect(await signIn(url, key)).toBeNull()
  const last = await connections(
    ['update', slug, '--metadata', '-'],
    metadataOf(provider, { certificates: [nextKey.certificate] }),
  )
  expect(certificateLines(last.stdout)).toEqual([
    `  certificate removed: ${describeCertificate(certificates[0]!)}`,
    `Certificate kept: ${describeCertificate(nextKey.certificate)}`,
  ])
  expect(await signIn(url)).toBe('response_invalid')
  expect(await signIn(url, nextKey)).toBeNull()

  const who = ['list', '--kind', 'connection_changed', '--connection', slug, '--json']
  const changes = (await runScript(['events', ...who])).stdout.trim().split('\n')
  const changed = { changed: ['certificates'], connection: slug, actor: 'operator' }
  expect(changes.map((line) => JSON.parse(line))).toMatchObject([
    { ...changed, operator: 'Grace', command: 'connections update' },
    changed,
  ])

  const padded = metadataOf(provider, {
    ssoUrl: `${ssoUrl}&#10;`,
    certificates: [nextKey.certificate],
  })
  expect((await connections(['update', slug, '--metadata', '-'], padded)).code).toBe(0)
  expect(
    (await sql('SELECT settings FROM connections WHERE slug = $1', [slug]))[0]!.settings
      .ssoUrl,
  ).toBe(ssoUrl)
  const other = metadataOf(provider, { entityId: 'https://other.example' })
  const wrong = await connections(['update', slug, '--metadata', '-'], other)
  expect([wrong.code, wrong.stdout]).toEqual([2, ''])
  expect(wrong.stderr).toContain(
    `${slug} is ${issuer}, not https://other.example, which can have other users`,
  )
  const shown = (await connections(['show', slug])).stdout
  for (const text of [
    `${slug}  saml  ${issuer}  ${domain} (trial)  users: 1  provisions`,
    ssoUrl,
    `${slug}/acs`,
  ])
    expect(shown).toContain(text)
})

test('keeps an expired certificate that is still published, so that sign-ins go on during a rotation', async ({
  url,
}) => {
  const warning = (position: string) =>
    `Imported certificate ${position}, although it expired on 2020-01-01: the provider may still sign with it.\n`
  const alone = metadataOf(provider, { certificates: [expired.certificate] })
  const added = await add(['--provision'], alone)
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(warning('1 of 1')),
  })
  expect(await signIn(url, expired)).toBeNull()

  const both = [expired.certificate, provider.nextKey.certificate]
  const updated = await connections(
    ['update', slug, '--metadata', '-'],
    metadataOf(provider, { certificates: both }),
  )
  expect(updated.stdout).toContain(warning('1 of 2'))
  for (const key of [expired, provider.nextKey]) expect(await signIn(url, key)).toBeNull()
  const { stdout } = await runScript(['clean-up'])
  expect(stdout).not.toContain(`"${slug}"`)
})

test('adds a connection with all flags', async ({ sql }) => {
  const flags = [
    '--want-signed',
    'both',
    '--sign-requests',
    '--email-attribute',
    'upn',
    '--name-id-format',
    'persistent',
    '--name',
    'Acme',
    '--list',
  ]
  const certificates = [expired.certificate, ...provider.settings.certificates, '']
  const { stdout } = await add(
    [...flags, '--allow-passwords'],
    metadataOf(provider, { certificates }),
  )
  for (const text of [
    'Imported certificate 1 of 3, although it expired on 2020-01-01',
    'Left out certificate 3 of 3: it is empty.\n',
    'here: upn',
    'the response and the assertion',
    'signed with the certificate in our',
  ])
    expect(stdout).toContain(text)
  const [row] = await sql('SELECT * FROM connections WHERE slug = $1', [slug])
  expect(row).toMatchObject({
    name: 'Acme',
    provision: false,
    listed: true,
    allow_passwords: true,
    settings: {
      signed: 'both',
      signRequests: true,
      emailAttribute: 'upn',
      nameIdFormat: 'persistent',
      certificates: certificates.slice(0, 2),
    },
  })
})

test('the metadata can demand signed requests, but it can’t turn off a check', async ({
  sql,
}) => {
  await add(
    [],
    metadataOf(provider, {
      attributes: ' WantAuthnRequestsSigned="true" WantAssertionsSigned="false"',
    }),
  )
  const [row] = await sql('SELECT settings FROM connections WHERE slug = $1', [slug])
  expect(row!.settings).toMatchObject({ signRequests: true, signed: 'either' })
})

test('updates the given fields, fetches metadata, and signs requests if the metadata demands it', async ({
  sql,
}) => {
  let [status, body] = [200, metadataOf(provider)]
  const { url: host, stop } = await listen(
    createServer((_, response) => response.writeHead(status).end(body)),
  )
  const update = (...parameters: string[]) => connections(['update', slug, ...parameters])
  const fetched = ['--metadata', `${host}/metadata`]
  expect(
    (await connections(['add', 'saml', slug, ...fetched, '--domain', domain])).code,
  ).toBe(0)
  const keys = () => sql('SELECT sealed_secrets FROM connections WHERE slug = $1', [slug])
  const encrypted = await keys()
  const certificates = [provider.nextKey.certificate]
  body = metadataOf(provider, {
    certificates,
    attributes: ' WantAuthnRequestsSigned="true"',
  })
  const updated = (await update(...fetched)).stdout
  expect(updated).toMatch(/^ {2}certificate added: .*… until /m)
  expect(updated).toMatch(/^ {2}certificate removed: .*… until /m)
  expect(updated).toContain('The metadata demands signed requests: they are signed.')
  expect(updated).toMatch(
    /At the identity provider, enter:\n {2}requests +signed with the certificate in our metadata\n$/,
  )
  expect((await update('--want-signed', 'both')).stdout).toContain(
    'signed: either → both',
  )
  expect(
    (await update('--want-signed', 'either', '--email-attribute', 'upn')).stdout,
  ).toContain('signed: both → either')
  expect((await update('--email-attribute', '')).stdout).toContain(
    'emailAttribute: upn → none',
  )
  expect((await update(...fetched)).stdout).toBe(
    `Updated ${slug}. Nothing has changed.\nCertificate kept: ${describeCertificate(certificates[0]!)}\n`,
  )
  expect(await keys()).toEqual(encrypted)
  for (const [parameters, message] of [
    [[], 'Pass what is to be changed'],
    [['--client-id', 'x'], '--client-id is not a flag of a connection of the kind saml.'],
    [['--metadata', 'http://idp.example.com/'], '--metadata must begin with https://.'],
  ] as const) {
    const { code, stderr } = await update(...parameters)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  }
  ;[status, body] = [404, '']
  expect(await update(...fetched)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the response is 404'),
  })
  await stop()
  expect(await update(...fetched)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('can’t be fetched'),
  })
})

test('rotates our key, and replaces a key that can’t be decrypted', async ({ sql }) => {
  await add()
  const rotate = (...more: string[]) => connections(['rotate-key', slug, ...more])
  const settings = async () =>
    (await sql('SELECT settings FROM connections WHERE slug = $1', [slug]))[0]!.settings
  const { certificate } = await settings()
  const rotated = await rotate()
  expect([rotated.code, rotated.stderr]).toEqual([0, ''])
  const { nextCertificate } = await settings()
  for (const text of [
    nextCertificate,
    `api/auth/sso/${slug}/metadata`,
    `rotate-key ${slug} --drop`,
  ])
    expect(rotated.stdout).toContain(text)
  expect(await settings()).toMatchObject({ certificate })
  expect((await connections(['show', slug])).stdout).toMatch(
    /^our certificate .*\nour next certificate .* until /m,
  )
  expect((await rotate('--drop')).stdout).toMatch(/nextCertificate: .* → none\n/)
  expect((await settings()).certificate).toBe(nextCertificate)
  await sql(`UPDATE connections SET sealed_secrets = 'lost' WHERE slug = $1`, [slug])
  const checked = await connections(['check', slug])
  expect(checked.stderr).toContain(
    'ENCRYPTION_KEY has changed. If its earlier value is lost: npm run connections -- rotate-key',
  )
  expect((await rotate()).stdout).toContain('The earlier key is lost.')
  expect((await connections(['check', slug])).stderr).not.toContain('secrets')
})

test('rejects an invalid connection, and adds nothing', async ({ sql }) => {
  const addAt = (parameters: string[], stdin = '') =>
    connections(['add', 'saml', slug, '--domain', domain, ...parameters], stdin)
  for (const [attempt, message] of [
    [addAt([]), '--metadata is required'],
    [addAt(['--metadata', '/nowhere.xml']), '/nowhere.xml can’t be read.'],
    [add([], '<html>'), 'This is a web page (HTML).'],
    [
      add([], metadataOf(provider, { certificates: [''] })),
      'Left out certificate 1 of 1: it is empty.',
    ],
    [
      add([], metadataOf(provider, { entityId: 'https://x.example/\u202e' })),
      'no control or invisible characters',
    ],
    [
      add([], metadataOf(provider, { ssoUrl: 'https://x.example/&#155;2J' })),
      'no control or invisible characters',
    ],
    [
      add(['--want-signed', 'nothing']),
      '--want-signed must be one of: either, response, assertion, both.',
    ],
    [add(['--issuer', 'https://idp.example']), 'npm run connections'],
    [
      connections(['update', slug, '--metadata', '-'], metadataOf(provider)),
      `There is no connection ${slug}.`,
    ],
  ] as const) {
    const { code, stdout, stderr } = await attempt
    expect([code, stdout], message).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/[\u202e\u009b]/)
  }
  expect(await sql('SELECT 1 FROM connections WHERE slug = $1', [slug])).toEqual([])
})

test('the check command requests the endpoint of the provider, and prints the error', async ({
  sql,
}) => {
  let status = 200
  const requested: string[] = []
  const idp = createServer((request, response) => {
    requested.push(request.url!)
    response.writeHead(status).end()
  })
  const { url: idpUrl, stop } = await listen(idp)
  await add([], metadataOf(provider, { ssoUrl: `${idpUrl}/sso` }))
  const check = () => connections(['check', slug])
  const stdout = `${slug}: the provider’s sign-on endpoint responds with 200.\n`
  expect(await check()).toEqual({ code: 0, stdout, stderr: '' })
  expect(requested[0]).toMatch(/^\/sso\?SAMLRequest=/)
  status = 404
  expect((await check()).stdout).toContain('is this service registered there?')

  // Returns a certificate with a lifetime of 10 years, of which this number of days is
  // left.
  const certificateFrom = async (days: number) => {
    const start = new Date(Date.now() + days * 86_400_000)
    start.setUTCFullYear(start.getUTCFullYear() - 10)
    return (await newKeyPair('idp', start)).certificate
  }
  const [soon, late, ended] = await Promise.all([20, 100, -1].map(certificateFrom))
  const checkWith = async (certificates: (string | undefined)[]) => {
    await sql(`UPDATE connections SET settings = settings || $2 WHERE slug = $1`, [
      slug,
      { certificates },
    ])
    return (await check()).stdout
  }
  expect(await checkWith([soon])).toContain('The last certificate expires on ')
  const log = async () =>
    (await runScript(['clean-up'])).stdout
      .split('\n')
      .find((line) => line.includes(`"${slug}"`))
  expect(JSON.parse((await log())!)).toMatchObject({
    level: 'warn',
    check: 'certificate_expires',
    whose: 'provider',
  })
  expect(await checkWith([ended])).toContain('The last certificate expired on ')
  expect(await checkWith([ended, soon, late])).not.toContain('certificate')
  expect(await log()).toBeUndefined()

  await stop()
  expect((await check()).stderr).toContain('provider_unreachable')
})
