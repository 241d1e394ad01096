import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { project } from '../../bin/dev/local'
import { errorOf, Visitor } from '../support/browsers/sso-visitor'
import { openReport } from '../support/browsers/test-sign-in'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { clientSecret, startProvider } from '../support/providers/oidc-provider'
import { runScript } from '../support/servers/command'

test('every command in the calendar of docs/sso.md has the effect that the document describes', async ({
  serverWith,
}) => {
  const database = await openOwnDatabase()
  const settings = { DATABASE_URL: database.url() }
  const server = await serverWith(settings)
  const [provider, other] = await Promise.all([startProvider(), startProvider()])
  const subjects = {
    ada: randomUUID(),
    another: randomUUID(),
    bob: randomUUID(),
    carol: randomUUID(),
  }
  const addresses =
    'ada@example.com ada.byron@example.com bob@example.org grace@example.com carol@example.net'
  const [ada, renamed, bob, grace, carol] = addresses.split(' ')
  const signIn = async (sub: string, email: string, slug = 'acme') => {
    provider.person = { sub, email }
    other.person = { sub, email }
    return errorOf(await new Visitor(server.url).signIn(slug))
  }
  const users = (...parameters: string[]) =>
    runScript(['users', ...parameters], '', settings)
  const isSsoOnly = async () =>
    JSON.parse((await users('show', grace!, '--json')).stdout).ssoOnly
  const stored = async () =>
    (await database.sql('SELECT sealed_secrets, session_hours FROM connections'))[0]
  const linkedIssuers = () =>
    database.sql('SELECT DISTINCT issuer FROM identities WHERE user_id IS NOT NULL')
  const live = (domain: string) =>
    database.sql(
      `SELECT slug FROM connections WHERE id =
         (SELECT connection_id FROM connection_domains WHERE domain = $1 AND live_since IS NOT NULL)`,
      [domain],
    )
  let before: Awaited<ReturnType<typeof stored>>
  let output = ''

  /** The effect to check after each command. */
  const checks: Record<string, () => Promise<unknown>> = {
    'connections add oidc': async () => {
      expect(await signIn(subjects.bob, bob!)).toBe('no_access')
      expect(await signIn(subjects.carol, carol!)).toBe('no_access')
      expect(await isSsoOnly()).toBe(false)
    },
    'connections check': async () => expect(output).toContain('the provider responds'),
    'connections try acme': async () => {
      provider.person = { sub: subjects.ada, email: ada }
      const { pathname, search } = new URL(/^ {2}(\S+)$/m.exec(output)![1]!)
      const visitor = new Visitor(server.url)
      const back = await visitor.authorize(await visitor.open(pathname + search))
      const { text } = await openReport(visitor, back.pathname + back.search)
      expect(text).toContain(`Would link ${ada} to this account`)
      expect(await linkedIssuers()).toEqual([])
    },
    'connections rejected acme': async () =>
      expect(output).toMatch(
        new RegExp(`email_domain  ${carol}  ${subjects.carol}  1 time`),
      ),
    'users link': async () => {
      expect(await linkedIssuers()).toEqual([])
      const [, command] = /^ {2}npm run users -- (.+)$/m.exec(output)!
      expect(command!.split(' ')).toEqual(['link', carol, 'acme', subjects.carol])
      expect((await users(...command!.split(' '))).code).toBe(0)
      expect(await signIn(subjects.carol, carol!)).toBeNull()
      await database.sql('DELETE FROM identities') // so that only the test has succeeded
    },
    'connections activate acme': async () => {
      expect(await isSsoOnly()).toBe(true)
      expect(output).toContain('sign-in attempts rejected at acme in the past 7 days: 1 ')
      expect(await signIn(subjects.ada, ada!)).toBeNull()
    },
    'connections update <': async () => {
      expect((await stored())!.sealed_secrets).not.toBe(before!.sealed_secrets)
      expect(await signIn(subjects.ada, ada!)).toBeNull()
    },
    'connections re-encrypt': async () => {
      expect((await stored())!.sealed_secrets).not.toBe(before!.sealed_secrets)
      expect(await signIn(subjects.ada, ada!)).toBeNull()
    },
    'connections update --domain': async () =>
      expect(await signIn(subjects.bob, bob!)).toBeNull(),
    'connections activate --domain': async () =>
      expect(JSON.parse((await users('show', bob!, '--json')).stdout).ssoOnly).toBe(true),
    'connections update --session-hours': async () =>
      expect((await stored())!.session_hours).toBe(8),
    'users rename': async () => {
      expect(await signIn(subjects.ada, renamed!)).toBeNull()
      expect((await users('show', ada!)).code).toBe(2)
    },
    'users unlink': async () => {
      expect(await signIn(subjects.ada, renamed!)).toBe('no_access')
      expect(await signIn(subjects.another, renamed!)).toBeNull()
    },
    'users show': async () =>
      expect(output).toContain(`Linked to acme as ${subjects.another}`),
    'users allow-password': async () => expect(await isSsoOnly()).toBe(false),
    'users allow-password --undo': async () => expect(await isSsoOnly()).toBe(true),
    'connections disable': async () => {
      expect(await signIn(subjects.bob, bob!)).toBe('connection_unavailable')
      expect(await isSsoOnly()).toBe(true)
    },
    'connections enable': async () => expect(await signIn(subjects.bob, bob!)).toBeNull(),
    'connections update --same-users': async () => {
      expect(await linkedIssuers()).toEqual([{ issuer: other.issuer }])
      expect(await signIn(subjects.bob, bob!)).toBeNull()
    },
    'connections add oidc acme-2 --beside': async () => {
      expect(await signIn(subjects.another, renamed!, 'acme-2')).toBeNull()
      expect(await live('example.com')).toEqual([{ slug: 'acme' }])
    },
    'connections activate acme-2 --from': async () =>
      expect(await live('example.com')).toEqual([{ slug: 'acme-2' }]),
    'connections update --remove-domain --unlink': async () => {
      expect(await signIn(subjects.another, renamed!)).toBe('no_access')
      expect(await signIn(subjects.another, renamed!, 'acme-2')).toBeNull()
      expect(await signIn(subjects.bob, bob!)).toBeNull()
    },
    'connections scim-token': async () =>
      expect(await database.sql('SELECT FROM scim_tokens')).toHaveLength(1),
    'users disable': async () =>
      expect(await signIn(subjects.another, renamed!, 'acme-2')).toBe('no_access'),
    'users delete': async () => expect((await users('show', renamed!)).code).toBe(2),
    'connections remove': async () => expect(await isSsoOnly()).toBe(false),
  }

  const [, section] = readFileSync(`${project}docs/sso.md`, 'utf8').split(
    '\n## Calendar\n',
  )
  const lines = [
    ...section!
      .split('\n## ')[0]!
      .matchAll(/\| `npm run ((?:connections|users) -- [^`]+)`/g),
  ]
  expect(lines).toHaveLength(Object.keys(checks).length)
  try {
    for (const email of [ada!, bob!, grace!, carol!]) await users('add', email)
    for (const [index, [name, check]] of Object.entries(checks).entries()) {
      const line = lines[index]![1]!
      expect(line.split(' ')).toEqual(expect.arrayContaining(name.split(' ')))
      before = await stored()
      const [command, stdin] = line
        .replace(/https:\/\/(idp\.example\.com|id\.example\.org)/, provider.issuer)
        .replace('https://login.example.net', other.issuer)
        .split(' < ')
      const ended = await runScript(
        command!.replace(' --', '').split(' '),
        stdin && clientSecret,
        settings,
      )
      // with its token, the command prints what to do with it
      const stderr = name.endsWith('scim-token') ? expect.any(String) : ''
      expect(ended, `${name}: ${ended.stderr}`).toMatchObject({ code: 0, stderr })
      output = ended.stdout
      await test.step(name, check)
    }
  } finally {
    await Promise.all([provider.stop(), other.stop()])
    await database.drop()
  }
})
