import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import { errorOf, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { expect, heading, test } from '../support/fixtures'
import { type SimpleSaml, startSimpleSaml } from '../support/providers/simplesamlphp'
import { keepSecret } from '../support/secrets'
import { connections } from '../support/servers/command'
import { temporaryFolder } from '../support/servers/program'
import { type Server, startServer } from '../support/servers/server'

// A company changes from oidc-provider to SimpleSAMLphp. Two processes serve its users.

let servers: Server[]
let saml: SimpleSaml
let oidc: LocalProvider
let [domain, oldSlug, newSlug, ada] = ['', '', '', '']

test.beforeAll(async () => {
  const first = await startServer()
  servers = [first, await startServer({ PUBLIC_URL: first.url })]
  saml = await startSimpleSaml()
})
test.afterAll(async () => {
  await saml?.stop()
  await Promise.all((servers ?? []).map((server) => server.stop()))
})
test.beforeEach(async () => {
  const name = randomBytes(6).toString('hex')
  domain = `${name}.example.org`
  ada = `ada@${domain}`
  ;[oldSlug, newSlug] = [`old-${name}`, `new-${name}`]
  oidc = await startLocalProvider({
    redirectUris: [`${servers[0]!.url}/api/auth/sso/${oldSlug}/callback`],
    people: [{ id: 'subject-of-ada', name: 'Ada', email: ada }],
  })
})
test.afterEach(() => oidc.stop())

const home = () => servers[0]!.url

async function addOidc(...flags: string[]): Promise<void> {
  const { issuer, clientId, clientSecret } = oidc
  const provider = ['--issuer', issuer, '--client-id', clientId, '--domain', domain]
  await connections(
    ['add', 'oidc', oldSlug, ...provider, '--provision', ...flags],
    keepSecret(clientSecret),
    { PUBLIC_URL: home() },
  )
}

/** Imports metadata of SimpleSAMLphp with a command. Returns its output. */
async function withMetadata(command: string[], change = (xml: string) => xml) {
  const folder = temporaryFolder('metadata')
  const file = `${folder.path}/metadata.xml`
  writeFileSync(file, change(await (await fetch(saml.metadataUrl)).text()))
  const output = await connections([...command, '--metadata', file], '', {
    PUBLIC_URL: home(),
  })
  folder.remove()
  return output
}

/** Lets SimpleSAMLphp read our metadata, and send the address of Ada. */
async function configureSaml(): Promise<void> {
  const ours = await fetch(`${home()}/api/auth/sso/${newSlug}/metadata`)
  const serviceProvider = await ours.text()
  saml.configure({ serviceProvider, email: ada, options: {} })
}

async function signInAtSaml(page: Page): Promise<void> {
  await page.locator('[name=username]').fill(saml.userName)
  await page.locator('[name=password]').fill(saml.password)
  await page.locator('[name=password]').press('Enter')
  await page.waitForURL(`${home()}/`)
}

const chooseAda = async (page: Page) => {
  await expect(heading(page)).toHaveText('Choose an account')
  await page.getByRole('link', { name: /^Ada / }).click()
  await page.waitForURL(`${home()}/`)
}

/** Types an address on the sign-in page of a process. */
async function typeAddress(page: Page, server: Server): Promise<void> {
  await page.context().clearCookies()
  await page.goto(`${server.url}/sign-in`)
  await page.getByLabel('Email address').fill(ada)
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('a company changes its provider, and back', async ({ page, sql }) => {
  await addOidc('--activate')
  await typeAddress(page, servers[0]!)
  await chooseAda(page)

  await withMetadata([
    ...['add', 'saml', newSlug, '--domain', domain, '--beside', oldSlug, '--list'],
  ])
  await configureSaml()
  await typeAddress(page, servers[0]!)
  await chooseAda(page) // others notice nothing

  await expect(connections(['activate', newSlug, '--from', oldSlug])).rejects.toThrow(
    `Nobody has signed in through ${newSlug} yet.`,
  )
  await page.context().clearCookies()
  await page.goto(`${home()}/sign-in`)
  await page.getByRole('link', { name: `Continue with ${newSlug}` }).click()
  await signInAtSaml(page)
  expect(await usersOf(sql, newSlug)).toMatchObject([{ email: ada }])

  expect(await connections(['activate', newSlug, '--from', oldSlug])).toContain(
    `${domain} moves from ${oldSlug} to ${newSlug}.`,
  )
  await page.context().clearCookies() // those of SimpleSAMLphp too
  await typeAddress(page, servers[0]!)
  await signInAtSaml(page)
  for (const { url } of servers)
    expect(await linksTo(url), 'in both processes').toBe(newSlug)

  await page.context().clearCookies()
  await page.goto(`${home()}/api/auth/sso/${oldSlug}/start`)
  await chooseAda(page) // by an old link

  await connections(['activate', oldSlug, '--from', newSlug])
  await typeAddress(page, servers[0]!)
  await chooseAda(page)
  await connections(['deactivate', oldSlug])
  for (const { url } of servers) expect(await linksTo(url)).toBeNull()
})

/** Returns the connection to which the address of Ada leads at a process. */
async function linksTo(url: string): Promise<string | null> {
  const response = await fetch(`${url}/api/auth/sso/find`, {
    method: 'POST',
    headers: { Accept: 'application/json', Origin: home() },
    body: new URLSearchParams({ email: ada }),
  })
  const { returnTo } = (await response.json()) as { returnTo: string | null }
  return returnTo && new URL(returnTo, url).searchParams.get('connection')
}

test('a SAML provider moves to another entity ID with the same users, and back', async ({
  page,
  sql,
}) => {
  await withMetadata([
    ...['add', 'saml', newSlug, '--domain', domain, '--provision', '--activate'],
  ])
  await configureSaml()
  await typeAddress(page, servers[0]!)
  await signInAtSaml(page)
  const before = await usersOf(sql, newSlug)
  const moved = 'https://moved.example.com/metadata'
  const move = (xml: string) => xml.replaceAll(`"${saml.entityId}"`, `"${moved}"`)

  await expect(withMetadata(['update', newSlug], move)).rejects.toThrow('--same-users')
  expect(await withMetadata(['update', newSlug, '--same-users'], move)).toContain(
    `1 links now name ${moved}. For example, ${ada} is ${saml.userName}.`,
  )
  expect(await usersOf(sql, newSlug)).toEqual([{ ...before[0], issuer: moved }])
  // our private key was decrypted and encrypted again
  expect(errorOf(await new Visitor(home()).start(newSlug))).toBeNull()

  await withMetadata(['update', newSlug, '--same-users'])
  await typeAddress(page, servers[0]!)
  await signInAtSaml(page)
  expect(await usersOf(sql, newSlug)).toEqual(before)
})
