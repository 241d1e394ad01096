import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { project } from '../../bin/dev/local'
import { errorOf, Visitor } from '../support/browsers/sso-visitor'
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
  const provider = await startProvider()
  const subjects = { ada: randomUUID(), another: randomUUID(), bob: randomUUID() }
  const addresses =
    'ada@example.com ada.byron@example.com bob@example.org grace@example.com'
  const [ada, renamed, bob, grace] = addresses.split(' ')
  const signIn = async (sub: string, email: string) => {
    provider.person = { sub, email }
    return errorOf(await new Visitor(server.url).signIn('acme'))
  }
  const users = (...parameters: string[]) =>
    runScript(['users', ...parameters], '', settings)
  const isSsoOnly = async () =>
    JSON.parse((await users('show', grace!, '--json')).stdout).ssoOnly
  const stored = async () =>
    (await database.sql('SELECT sealed_secrets, session_hours FROM connections'))[0]
  let before: Awaited<ReturnType<typeof stored>>
  let output = ''

  /** The effect to check after each command. */
  const checks: Record<string, () => Promise<unknown>> = {
    'connections add oidc': async () => {
      expect(await signIn(subjects.ada, ada!)).toBeNull()
      expect(await signIn(subjects.bob, bob!)).toBe('no_access')
      expect(await isSsoOnly()).toBe(true)
    },
    'connections check': async () => expect(output).toContain('the provider responds'),
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
    'users disable': async () =>
      expect(await signIn(subjects.another, renamed!)).toBe('no_access'),
    'users delete': async () => expect((await users('show', renamed!)).code).toBe(2),
    'connections disable': async () => {
      expect(await signIn(subjects.bob, bob!)).toBe('connection_unavailable')
      expect(await isSsoOnly()).toBe(true)
    },
    'connections enable': async () => expect(await signIn(subjects.bob, bob!)).toBeNull(),
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
    for (const email of [ada!, bob!, grace!]) await users('add', email)
    for (const [index, [name, check]] of Object.entries(checks).entries()) {
      const line = lines[index]![1]!
      expect(line.split(' ')).toEqual(expect.arrayContaining(name.split(' ')))
      before = await stored()
      const [command, stdin] = line
        .replace('https://idp.example.com', provider.issuer)
        .split(' < ')
      const ended = await runScript(
        command!.replace(' --', '').split(' '),
        stdin && clientSecret,
        settings,
      )
      expect(ended, name).toMatchObject({ code: 0, stderr: '' })
      output = ended.stdout
      await test.step(name, check)
    }
  } finally {
    await provider.stop()
    await database.drop()
  }
})
