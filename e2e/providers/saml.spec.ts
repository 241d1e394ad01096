import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { connectionState } from '../support/databases/sign-ins'
import { expect, heading, type Sql, test } from '../support/fixtures'
import {
  type LemonLdap,
  type ServiceProvider,
  startLemonLdap,
} from '../support/providers/lemonldap'
import {
  type SimpleSaml,
  type SimpleSamlOptions,
  startSimpleSaml,
} from '../support/providers/simplesamlphp'
import { keepSecret } from '../support/secrets'
import { connections } from '../support/servers/command'
import { temporaryFolder } from '../support/servers/program'
import { type Server, startServer } from '../support/servers/server'

// The providers are on 127.0.0.1 and the app on localhost, which are different sites. So
// the response is a cross-site POST request, with which browsers send no SameSite
// cookies.

let server: Server
let slug: string
const domain = () => `${slug}.example.org`
const serviceProviderId = () => `${server.url}/api/auth/sso/${slug}/metadata`

test.beforeAll(async () => {
  server = await startServer()
})
test.afterAll(() => server?.stop())
test.beforeEach(() => {
  slug = `saml-${randomBytes(6).toString('hex')}`
})

/** Adds a connection with the metadata of the provider. Returns our metadata. */
async function exchangeMetadata(
  metadataUrl: string,
  parameters: string[] = [],
): Promise<string> {
  const folder = temporaryFolder('metadata')
  const file = `${folder.path}/metadata.xml`
  writeFileSync(file, await (await fetch(metadataUrl)).text())
  await connections([
    'add',
    'saml',
    slug,
    '--metadata',
    file,
    '--domain',
    domain(),
    '--provision',
    '--activate',
    ...parameters,
  ])
  folder.remove()
  const response = await fetch(serviceProviderId())
  expect(response.status).toBe(200)
  return response.text()
}

/** Opens our sign-in page, and continues to the provider. */
async function goToProvider(page: Page): Promise<void> {
  await page.goto(`${server.url}/sign-in?next=/reports?year=2026`)
  await page.getByLabel('Email address').fill(`ada@${domain()}`)
  await page.getByRole('button', { name: 'Continue' }).click()
}

/**
 * Records what the provider signed and encrypted in the response that the browser posts.
 */
type Protection = { response: boolean; assertion: boolean; encrypted: boolean }

function watchResponse(page: Page): () => Protection {
  let xml = ''
  page.on('request', (request) => {
    if (request.method() !== 'POST' || !request.url().endsWith('/acs')) return
    const form = new URLSearchParams(request.postData() ?? '')
    keepSecret(form.get('RelayState')!)
    xml = Buffer.from(form.get('SAMLResponse')!, 'base64').toString()
  })
  return () => {
    const [envelope, assertion] = xml.split(/<(?:\w+:)?(?:Encrypted)?Assertion[ >]/)
    const has = (name: string, part = xml) =>
      new RegExp(`<(\\w+:)?${name}[ >]`).test(part)
    const encrypted = has('EncryptedAssertion')
    return {
      response: has('Signature', envelope),
      assertion: has('Signature', assertion),
      encrypted,
    }
  }
}

async function expectSignedIn(
  page: Page,
  sql: Sql,
  identity: { issuer: string; subject: unknown },
): Promise<void> {
  await page.waitForURL(`${server.url}/reports?year=2026`, { timeout: 30_000 })
  const email = `ada@${domain()}`
  await page.goto(server.url)
  await expect(page.getByText(email)).toBeVisible()
  expect(await connectionState(sql, slug)).toEqual({
    users: [email],
    identities: [{ ...identity, email }],
    sessions: [{ email, revoked: false }],
    signIns: [{ claimed: true }],
  })
}

/**
 * Expects that the provider's unsolicited response was not used, and that the user signed
 * in by our own request.
 */
async function expectSignedInByTile(
  page: Page,
  sql: Sql,
  identity: object,
): Promise<void> {
  await page.waitForURL(`${server.url}/`)
  await expect(page.getByText(`ada@${domain()}`)).toBeVisible()
  expect(loggedCheck()).toBe('unsolicited')
  expect(await connectionState(sql, slug)).toMatchObject({
    identities: [identity],
    sessions: [{ revoked: false }],
    signIns: [{ claimed: true }],
  })
}

/** Returns the check that the log names for a rejected sign-in. */
function loggedCheck(): string | undefined {
  return server.logged(`"connection":"${slug}"`).findLast(({ check }) => check)?.check
}

async function change(
  sql: Sql,
  settings: { signed?: string; signRequests?: boolean },
): Promise<void> {
  await sql('UPDATE connections SET settings = settings || $2 WHERE slug = $1', [
    slug,
    settings,
  ])
}

test.describe('SimpleSAMLphp', () => {
  let provider: SimpleSaml
  test.beforeAll(async () => {
    provider = await startSimpleSaml()
  })
  test.afterAll(() => provider?.stop())

  async function connect(
    options: SimpleSamlOptions,
    parameters: string[] = [],
  ): Promise<void> {
    const serviceProvider = await exchangeMetadata(provider.metadataUrl, parameters)
    provider.configure({ serviceProvider, email: `ada@${domain()}`, options })
  }

  async function signIn(page: Page): Promise<void> {
    await page.locator('[name=username]').fill(provider.userName)
    await page.locator('[name=password]').fill(provider.password)
    await page.locator('[name=password]').press('Enter')
  }

  const identity = () => ({ issuer: provider.entityId, subject: provider.userName })

  for (const [title, wanted, response, assertion, encrypted] of [
    ['signed response', 'response', true, false, false],
    ['signed assertion', 'assertion', false, true, false],
    ['both signed', 'both', true, true, false],
    ['signed response, encrypted assertion', 'response', true, false, true],
    ['both signed, encrypted assertion', 'both', true, true, true],
  ] as const) {
    test(`signs in: ${title}`, async ({ page, sql }) => {
      await connect(
        {
          'saml20.sign.response': response,
          'saml20.sign.assertion': assertion,
          'assertion.encryption': encrypted,
        },
        ['--want-signed', wanted],
      )
      const protection = watchResponse(page)
      await goToProvider(page)
      await signIn(page)
      await expectSignedIn(page, sql, identity())
      // the signature of an encrypted assertion is inside the encryption
      expect(protection()).toEqual({
        response,
        assertion: assertion && !encrypted,
        encrypted,
      })
    })
  }

  for (const missing of ['response', 'assertion'] as const) {
    test(`the log reports a missing signature of the ${missing}`, async ({
      page,
      sql,
    }) => {
      const given = missing === 'response' ? 'assertion' : 'response'
      const signs = {
        'saml20.sign.response': given === 'response',
        'saml20.sign.assertion': given === 'assertion',
      }
      await connect(signs, ['--want-signed', given])
      // after the provider has read which signatures we require
      await change(sql, { signed: missing })
      const protection = watchResponse(page)
      await goToProvider(page)
      await signIn(page)
      await expect(heading(page)).toHaveText('We couldn’t verify your sign-in')
      expect(protection()).toMatchObject({ [missing]: false, [given]: true })
      expect(loggedCheck()).toBe('saml_unsigned')
      expect(await connectionState(sql, slug)).toMatchObject({
        users: [],
        identities: [],
        sessions: [],
      })
    })
  }

  test('signs in at a provider that accepts only signed requests', async ({
    page,
    sql,
  }) => {
    await connect({ 'validate.authnrequest': true }, ['--sign-requests'])
    await goToProvider(page)
    await signIn(page)
    await expectSignedIn(page, sql, identity())

    await change(sql, { signRequests: false })
    await page.context().clearCookies()
    await goToProvider(page)
    await expect(page.locator('body')).toContainText('no signature found on message')
    await expect(page.locator('[name=username]')).toHaveCount(0)
  })

  test('a tile in its portal leads to the start of our sign-in, and the user is signed in', async ({
    page,
    sql,
  }) => {
    await connect({})
    await page.goto(provider.tileOf(serviceProviderId()))
    await signIn(page)
    await expectSignedInByTile(page, sql, identity())
  })
})

test.describe('LemonLDAP::NG', () => {
  let provider: LemonLdap

  async function connect(
    service: Omit<ServiceProvider, 'metadata'>,
    parameters: string[] = [],
  ): Promise<void> {
    provider = await startLemonLdap(domain())
    const metadata = await exchangeMetadata(provider.metadataUrl, parameters)
    await provider.configure({ serviceProviders: [{ metadata, ...service }] })
  }
  test.afterEach(() => provider?.stop())

  async function signIn(page: Page): Promise<void> {
    await page.locator('[name=user]').fill(provider.userName)
    await page.locator('[name=password]').fill(provider.userName)
    await page.locator('[type=submit]').first().click()
  }

  const identity = () => ({
    issuer: provider.metadataUrl,
    subject: expect.stringMatching(/\S/),
  })

  for (const [title, encryptAssertions] of [
    ['both signed', false],
    ['both signed, encrypted assertion', true],
  ] as const) {
    test(`signs in: ${title}`, async ({ page, sql }) => {
      await connect({ encryptAssertions })
      const protection = watchResponse(page)
      await goToProvider(page)
      await signIn(page)
      await expectSignedIn(page, sql, identity())
      expect(protection()).toEqual({
        response: true,
        assertion: !encryptAssertions,
        encrypted: encryptAssertions,
      })
    })
  }

  test('signs in at a provider that accepts only signed requests', async ({
    page,
    sql,
  }) => {
    await connect({ requireSignedRequests: true })
    await goToProvider(page)
    await signIn(page)
    await expectSignedIn(page, sql, identity())

    await change(sql, { signRequests: false })
    await page.context().clearCookies()
    await goToProvider(page)
    await signIn(page) // the provider reads the request after the sign-in
    await expect(page.getByRole('alert')).toHaveText(
      'Error in SAML message signature management',
    )
    expect(provider.output()).toContain(
      'Could not verify signature of incoming SSO request',
    )
  })

  for (const [parameters, subject] of [
    [[], /^[^@]+@[^@]+$/],
    [['--name-id-format', 'persistent'], /^[^@]+$/],
  ] as const) {
    const title = parameters.length > 0 ? 'with' : 'without'
    test(`signs in ${title} --name-id-format, with another NameID`, async ({
      page,
      sql,
    }) => {
      await connect({ readNameIdFormat: true }, [...parameters])
      await goToProvider(page)
      await signIn(page)
      await expectSignedIn(page, sql, {
        ...identity(),
        subject: expect.stringMatching(subject),
      })
    })
  }

  test('a tile in its portal leads to the start of our sign-in, and the user is signed in', async ({
    page,
    sql,
  }) => {
    await connect({})
    await page.goto(provider.tileOf(serviceProviderId()))
    await signIn(page)
    await expectSignedInByTile(page, sql, identity())
  })
})
