import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { findConnection } from '../../lib/sso/connection'
import { listRejected, recordRejected } from '../../lib/sso/rejected'
import { SignInRejected } from '../../lib/sso/rejection'
import { Visitor } from '../support/browsers/sso-visitor'
import { openReport } from '../support/browsers/test-sign-in'
import { addTestConnection, connect } from '../support/databases/connection'
import { expect, test } from '../support/fixtures'
import { type Provider, startProvider } from '../support/providers/oidc-provider'
import { keepSecret } from '../support/secrets'
import { runScript } from '../support/servers/command'

// The commands about tests and rejected accounts.

const connections = (...parameters: string[]) => runScript(['connections', ...parameters])
const users = (...parameters: string[]) => runScript(['users', ...parameters])

let provider: Provider
test.beforeEach(async () => {
  provider = await startProvider()
})
test.afterEach(() => provider.stop())

async function reject(
  connectionId: string,
  subject: string,
  account: string,
  { check = 'identity_second_factor', issuer = 'https://idp.example.com' } = {},
): Promise<void> {
  const rejection = new SignInRejected(check, 'no_access')
  Object.assign(rejection, { identity: { issuer, subject }, account })
  await recordRejected(connectionId, rejection)
}

test('try prints a link whose test lets activate go on', async ({ url }) => {
  const slug = await connect(provider, { activate: false })
  const early = await connections('activate', slug)
  expect([early.code, early.stderr]).toEqual([
    2,
    `Nobody has signed in through ${slug} yet. npm run connections -- try ${slug}. To go on anyway: --untested\n`,
  ])

  const { code, stdout } = await connections('try', slug)
  expect(code).toBe(0)
  const link = new URL(/^ {2}(\S+)$/m.exec(stdout)![1]!)
  expect(link.origin).toBe(new URL(process.env.PUBLIC_URL!).origin)
  keepSecret(link.searchParams.get('try')!)

  const visitor = new Visitor(url)
  const back = await visitor.authorize(await visitor.open(link.pathname + link.search))
  const { text } = await openReport(visitor, back.pathname + back.search)
  expect(text).toContain(`Would create ada@${slug}.example.org`)
  expect(text).toContain('domain trial')

  expect((await connections('activate', slug)).code).toBe(0)
  expect((await connections('try', 'unknown')).code).toBe(2)
})

test('rejected lists accounts with a remedy, and activate counts them', async () => {
  const domain = `${randomUUID()}.example`
  const { id, slug } = await addTestConnection(domain, { activate: false })
  expect((await connections('rejected', slug)).stdout).toContain(
    `${slug} has rejected no account in the past 7 days.`,
  )

  const email = `ada@${domain}`
  for (const _ of [1, 2, 3]) await reject(id, '00u1abc', email)
  await reject(id, 'eve', 'eve@example.com', { check: 'id_token_tid' })
  const { code, stdout } = await connections('rejected', slug)
  expect(code).toBe(0)
  expect(stdout).toMatch(
    new RegExp(
      `^[\\d-]{10} [\\d:]{5}  id_token_tid  eve@example\\.com  eve  1 time
[\\d-]{10} [\\d:]{5}  identity_second_factor  ${email}  00u1abc  3 times
  To let this account in: npm run users -- link ${email} ${slug}\n$`,
    ),
  )

  const activated = await connections('activate', slug, '--untested')
  expect(activated.stdout).toContain(
    `sign-in attempts rejected at ${slug} in the past 7 days: 4 (connections -- rejected ${slug})\n`,
  )
})

test('users link lists the rejected subjects without a subject, and links one with it', async ({
  sql,
}) => {
  const domain = `${randomUUID()}.example`
  const { id, slug } = await addTestConnection(domain)
  const email = `ada@${domain}`
  await users('add', email)
  const none = await users('link', email, slug)
  expect([none.code, none.stdout]).toEqual([
    0,
    `No account with the address ${email} was rejected at ${slug} in the past 7 days. Let the person sign in once, then repeat this.\n`,
  ])

  const issuer = 'https://tenant.example.com'
  await reject(id, 'first', email)
  await reject(id, 'second', email.toUpperCase(), { issuer })
  await reject(id, 'third', `eve@${domain}`)
  const { code, stdout } = await users('link', email, slug)
  expect(code).toBe(0)
  const commands = [...stdout.matchAll(/^ {2}npm run (.+)$/gm)].map(([, text]) => text)
  expect(commands).toEqual([
    `users -- link --issuer ${issuer} ${email} ${slug} second`,
    `users -- link ${email} ${slug} first`,
  ])
  expect(stdout).toMatch(/^[\d-]{10} [\d:]{5} {2}identity_second_factor {2}/m)
  const links = `SELECT issuer, subject FROM identities WHERE connection_id = $1`
  expect(await sql(links, [id])).toEqual([])

  const linked = await users(...commands[0]!.split(' ').slice(2))
  expect([linked.code, linked.stderr]).toEqual([0, ''])
  expect(await sql(links, [id])).toEqual([{ issuer, subject: 'second' }])
  expect((await listRejected(id)).map(({ subject }) => subject)).toEqual([
    'third',
    'first',
  ])
})

test('printed commands are safe, whatever subject and address a provider sends', async ({
  sql,
}) => {
  const { id, slug } = await addTestConnection(`${randomUUID()}.example`)
  const email = `ada+$(touch${randomUUID()})@example.com`
  await sql(`INSERT INTO users (email, email_domain) VALUES ($1, 'example.com')`, [email])
  const subjects = [`it's; $(exit 1) \`x\` "y"`, '-dash', '--issuer', 'control\u001b[31m']
  for (const subject of subjects) {
    await reject(id, subject, email)
    const { stdout } = await users('link', email, slug)
    const [, command] = /^ {2}(npm run .+)$/m.exec(stdout) ?? []
    expect(stdout).not.toContain('\u001b')
    expect((await connections('rejected', slug)).stdout).not.toContain('\u001b')

    if (subject.includes('\u001b')) expect(command).toBeUndefined()
    else {
      const script = `set -- ${command!.replace('npm run users --', '')}; printf '%s\\n' "$@"`
      const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' })
      const given = printed.trimEnd().split('\n')
      expect(given.slice(-3)).toEqual([email, slug, subject])
      expect((await users(...given)).code).toBe(0)
      await users('unlink', email, slug)
    }
    await sql('DELETE FROM rejected_sign_ins WHERE connection_id = $1', [id])
  }
  expect(await findConnection(slug)).not.toBeNull()
})
