import { randomUUID } from 'node:crypto'
import { deactivation, newPerson, withToken } from '../support/clients/directory'
import { addTestConnection } from '../support/databases/connection'
import { expect, type TestServer, test } from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { keepSecret } from '../support/secrets'
import { runScript } from '../support/servers/command'

// The commands about directories (SCIM), and about the users whom they disable.

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ SCIM: 'true' })
})

const connections = (...parameters: string[]) => runScript(['connections', ...parameters])
const users = (...parameters: string[]) => runScript(['users', ...parameters])

/** Adds a connection that is live for a domain. */
async function connect() {
  const domain = `${randomUUID()}.example.org`
  const { slug, id } = await addTestConnection(domain)
  return { domain, slug, id }
}

/** Runs `scim-token`, and returns the token and what the command says about it. */
async function issueToken(slug: string, ...parameters: string[]) {
  const { code, stdout, stderr } = await connections('scim-token', slug, ...parameters)
  expect(code).toBe(0)
  const token = keepSecret(stdout.trim())
  const send = withToken(() => server.url, token)
  const works = async () => (await send('GET', '/Users')).status === 200

  return { token, stderr, send, works }
}

test('issues, rotates, lists and revokes the tokens of a directory', async () => {
  const { slug } = await connect()
  const first = await issueToken(slug)
  expect(first.token).toMatch(/^scim_[\w-]{43}$/)
  expect(first.stderr).toContain(`${process.env.PUBLIC_URL}/api/scim/v2`)
  expect(first.stderr).toContain('Directories can use it only with SCIM=true.')
  expect(first.stderr).not.toContain('The old one')
  expect(await first.works()).toBe(true)

  const second = await issueToken(slug, '--keep', '7d')
  expect(second.stderr).toContain('The old one works for 7d')
  expect([await first.works(), await second.works()]).toEqual([true, true])
  const { stdout } = await connections('show', slug)
  expect(stdout).toMatch(
    new RegExp(
      `SCIM token …${first.token.slice(-4)}: created \\S+, expires \\S+\nSCIM token …${second.token.slice(-4)}: created \\S+\n`,
    ),
  )

  const revoked = await connections('scim-token', slug, '--revoke', first.token.slice(-4))
  expect(revoked.stdout).toContain(`Revoked the token …${first.token.slice(-4)}.`)
  const again = await connections('scim-token', slug, '--revoke', first.token.slice(-4))
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('has no live token'),
  ])
  expect([await first.works(), await second.works()]).toEqual([false, true])

  const third = await issueToken(slug)
  expect(third.stderr).toContain('The old one works no longer.')
  expect([await second.works(), await third.works()]).toEqual([false, true])

  for (const [parameters, text] of [
    [['--keep', 'soon'], 'is not a time'],
    [['--keep', '1d', '--revoke', 'x'], 'not both'],
  ] as const) {
    const { code, stderr } = await connections('scim-token', slug, ...parameters)
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)])
  }
  expect((await connections('scim-token', 'unknown')).code).toBe(2)
})

test('`users` shows who has disabled a user, and `disable` and `enable` overrule a directory', async ({
  sql,
}) => {
  const { slug, domain } = await connect()
  const { send } = await issueToken(slug)
  const person = newPerson(domain)
  const email = person.userName
  const { body } = await send('POST', '/Users', person)
  const state = async () =>
    (
      await sql(
        `SELECT disabled_at IS NULL AS active, disabled_by IS NOT NULL AS "byDirectory" FROM users WHERE email = $1`,
        [email],
      )
    )[0]
  const deactivate = () => send('PATCH', `/Users/${body.id}`, deactivation)

  await deactivate()
  expect((await users('show', email)).stdout).toMatch(
    new RegExp(`disabled since \\S+ by the directory of ${slug}  SSO only\n`),
  )
  const shown = JSON.parse((await users('show', email, '--json')).stdout)
  expect(shown.disabledBy).toBe(slug)

  expect((await users('enable', email)).code).toBe(0)
  expect(await state()).toEqual({ active: true, byDirectory: false })
  await deactivate()
  expect((await users('disable', email)).code).toBe(0)
  expect(await state()).toEqual({ active: false, byDirectory: false })
  expect((await users('show', email)).stdout).not.toContain('by the directory')
})

test('`remove` prints how many users the directory had disabled, and they stay so', async ({
  sql,
}) => {
  const { slug, domain, id } = await connect()
  const { send, works } = await issueToken(slug)
  for (const name of ['ada', 'bob', 'carol']) {
    const { body } = await send('POST', '/Users', newPerson(domain, name))
    if (name !== 'carol') await send('PATCH', `/Users/${body.id}`, deactivation)
  }

  const { stdout } = await connections('remove', slug)
  expect(stdout).toContain('Users whom its directory had disabled, and who stay so: 2.')
  const disabled = `SELECT email FROM users WHERE disabled_by = $1 AND disabled_at IS NOT NULL`
  expect(await sql(disabled, [id])).toHaveLength(2)
  expect(await works()).toBe(false)
  expect((await users('show', `ada@${domain}`)).stdout).toContain(
    `by the directory of ${id}`,
  )
})

test('`check` prints the URL for the logout tokens of a provider that supports them', async () => {
  const provider = await startProvider()
  const domain = `${randomUUID()}.example.org`
  const settings = {
    kind: 'oidc',
    issuer: provider.issuer,
    clientId: 'the-client',
  } as const
  const { slug } = await addTestConnection(domain, { settings })
  const text = `${process.env.PUBLIC_URL}/api/auth/sso/${slug}/backchannel-logout`
  expect((await connections('check', slug)).stdout).not.toContain(text)
  provider.behavior.metadata = (genuine) => ({
    ...genuine,
    backchannel_logout_supported: true,
  })
  expect((await connections('check', slug)).stdout).toContain(text)
  await provider.stop()
})
