import { randomBytes } from 'node:crypto'
import { listConnections } from '../../lib/sso/manage/connections'
import { findDraft } from '../../lib/sso/setup/draft'
import { findLinkBySecret } from '../../lib/sso/setup/link'
import { addTestConnection } from '../support/databases/connection'
import { eventsOfConnection } from '../support/databases/events'
import { expect, test } from '../support/fixtures'
import { clientSecret } from '../support/providers/oidc-provider'
import { providerMetadata } from '../support/providers/saml-metadata'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'
import { runScript } from '../support/servers/command'

// The command `invite`, and what the other commands do with drafts.

const connections = (...parameters: string[]) => runScript(['connections', ...parameters])
const newSlug = () => `setup-${randomBytes(6).toString('hex')}`

async function invite(slug: string, ...parameters: string[]) {
  const ended = await connections('invite', slug, ...parameters)
  const secret = ended.code === 0 ? keepSecret(ended.stdout.trim().split('#')[1]!) : ''

  return { ...ended, secret }
}

test('makes a draft with its link, replaces the link, and ends it', async ({ sql }) => {
  const slug = newSlug()
  const domain = `${slug}.example.org`
  const first = await invite(slug, '--domain', domain, '--name', 'Acme')
  expect(first.code).toBe(0)
  expect(first.stdout).toMatch(
    new RegExp(`^${process.env.PUBLIC_URL}/setup#[\\w-]{43}\n$`),
  )
  expect(first.stderr).toContain('The connection stays disabled')
  expect(first.stderr).toContain(`npm run connections -- enable ${slug}`)
  expect(first.stderr).toContain('The page exists only with SETUP_LINKS=true.')
  expect(await findLinkBySecret(first.secret)).toMatchObject({ mayActivate: false })
  expect(await findDraft(slug)).toMatchObject({ name: 'Acme', domains: [domain] })

  const listed = (await connections('list')).stdout
  expect(listed).toMatch(new RegExp(`^${slug}  draft  ${domain} \\(trial\\)  made `, 'm'))
  const shown = (await connections('show', slug)).stdout
  expect(shown).toMatch(/setup link: made \S+, expires \S+, nothing entered\n/)
  expect(shown).toContain(`/api/auth/sso/${slug}/metadata`)

  const second = await invite(slug, '--may-apply', '--days', '30')
  expect(second.stderr).toContain('verified contact only')
  expect(await findLinkBySecret(first.secret)).toBeNull()
  const days = (await findLinkBySecret(second.secret))!.expiresAt.getTime() - Date.now()
  expect(Math.round(days / (24 * 60 * 60 * 1000))).toBe(30)

  const revoked = await connections('invite', slug, '--revoke')
  expect(revoked.stdout).toContain(`The setup link of ${slug} has ended.`)
  expect(await findLinkBySecret(second.secret)).toBeNull()
  expect((await connections('invite', slug, '--revoke')).code).toBe(2)
  const command = { actor: 'operator', command: 'connections invite' }
  const { id } = (await findDraft(slug))!
  expect(await eventsOfConnection(sql, id)).toEqual([
    { kind: 'connection_added', slug, ...command },
    { kind: 'setup_link_issued', ...command },
    { kind: 'setup_link_ended', ...command },
    { kind: 'setup_link_issued', ...command },
    { kind: 'setup_link_ended', ...command },
  ])

  for (const command of ['check', 'enable', 'try', 'activate', 'update']) {
    const { code, stderr } = await connections(command, slug)
    expect.soft([command, code]).toEqual([command, 2])
    expect.soft(stderr).toContain(`${slug} is a draft`)
  }
  expect((await connections('remove', slug, '--yes')).code).toBe(0)
  expect(await findDraft(slug)).toBeNull()
})

test('rejects links that could do nothing, and wrong flags', async () => {
  const slug = newSlug()
  const domain = `${slug}.example.org`
  const live = await addTestConnection(domain)
  const cases: [parameters: string[], problem: string][] = [
    [[slug], 'Name at least one --domain.'],
    [['A_B', '--domain', domain], 'is not a slug'],
    [[slug, '--domain', 'x'], 'is not a domain'],
    [[slug, '--domain', domain], `--beside ${live.slug}`],
    [[slug, '--domain', `x.${domain}`, '--days', '31'], 'from 1 to 30'],
    [[slug, '--domain', `x.${domain}`, '--name', ''], '--name must have'],
    [[slug, '--domain', domain, '--revoke'], '--revoke stands alone'],
    [[slug, '--domain', `x.${domain}`, '--start-over'], 'There is no connection'],
    [[live.slug, '--name', 'Other'], '--name is only for a new draft'],
    [[live.slug], 'only with --may-apply'],
    [[live.slug, '--start-over'], `deactivate ${live.slug}`],
  ]
  for (const [parameters, problem] of cases) {
    const { code, stderr } = await connections('invite', ...parameters)
    expect.soft([parameters, code]).toEqual([parameters, 2])
    expect.soft(stderr).toContain(problem)
  }
  expect(await findDraft(slug)).toBeNull()
})

test('`add` fills a draft, keeps its key pair, and ends its link', async ({ sql }) => {
  const slug = newSlug()
  const domain = `${slug}.example.org`
  const { secret } = await invite(slug, '--domain', domain)
  const draft = (await findDraft(slug))!
  const { settings } = await newSamlProvider()
  const metadata = providerMetadata(settings.certificates[0]!)
  const ended = await runScript(
    ['connections', 'add', 'saml', slug, '--metadata', '-', '--domain', domain],
    metadata,
  )
  expect([ended.code, ended.stderr]).toEqual([0, ''])
  const [connection] = await listConnections(slug)
  expect(connection).toMatchObject({
    id: draft.id,
    settings: { kind: 'saml', certificate: draft.certificate },
    disabledAt: null,
    trialDomains: [domain],
  })
  expect(await findLinkBySecret(secret)).toBeNull()
  const filled = { actor: 'operator', command: 'connections add saml' }
  expect((await eventsOfConnection(sql, draft.id)).slice(2)).toMatchObject([
    { kind: 'connection_changed', ...filled },
    { kind: 'connection_enabled', ...filled },
    { kind: 'setup_link_ended', ...filled },
  ])

  const emptied = await invite(slug, '--start-over')
  expect(emptied.code).toBe(0)
  expect((await findDraft(slug))!.id).toBe(draft.id)
  const rows = await sql('SELECT disabled_at FROM connections WHERE slug = $1', [slug])
  expect(rows[0]!.disabled_at).not.toBeNull()
  expect((await eventsOfConnection(sql, draft.id)).slice(5)).toMatchObject([
    { kind: 'connection_changed' },
    { kind: 'connection_disabled' },
    { kind: 'setup_link_issued' },
  ])
})

test('`--start-over` refuses a connection with users', async ({ user, sql }) => {
  const slug = newSlug()
  await addTestConnection(`${slug}.example.org`, { slug, activate: false })
  await sql(
    `INSERT INTO identities (connection_id, issuer, subject, user_id)
     SELECT id, 'https://idp.example.com', 'x', $2 FROM connections WHERE slug = $1`,
    [slug, user.id],
  )
  const { code, stderr } = await invite(slug, '--start-over')
  expect([code, stderr]).toEqual([2, expect.stringContaining('so it can’t start over')])
  expect(await findDraft(slug)).toBeNull()
})

test('`re-encrypt` includes drafts', async ({ sql }) => {
  const slug = newSlug()
  await invite(slug, '--domain', `${slug}.example.org`)
  const read = async () =>
    (await sql('SELECT sealed_secrets FROM connections WHERE slug = $1', [slug]))[0]!
      .sealed_secrets
  const before = await read()
  const { stderr } = await connections('re-encrypt')
  expect(stderr).not.toContain(slug)
  expect(await read()).not.toBe(before)
})

test('`enable` prints what a setup link has entered', async ({ sql }) => {
  const slug = newSlug()
  await addTestConnection(`${slug}.example.org`, {
    slug,
    activate: false,
    secrets: { clientSecret },
  })
  await connections('disable', slug)
  await invite(slug)
  await sql(
    `UPDATE setup_links SET changed_at = now(), tried_at = now(), tried_as = 'ada@example.com'
     WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
    [slug],
  )
  expect((await connections('show', slug)).stdout).toContain('as ada@example.com')
  const { stdout } = await connections('enable', slug)
  expect(stdout).toContain('These values came from a setup link.')
  expect(stdout).toContain('issuer: https://idp.example.com')
})

test('`users -- delete` removes the address from the links that were tested with it', async ({
  user,
  sql,
}) => {
  const slug = newSlug()
  await invite(slug, '--domain', `${slug}.example.org`)
  const ofDraft = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
  await sql(`UPDATE setup_links SET tried_at = now(), tried_as = $2 WHERE ${ofDraft}`, [
    slug,
    user.email,
  ])
  expect((await runScript(['users', 'delete', user.email, '--yes'])).code).toBe(0)
  expect(await sql(`SELECT tried_as FROM setup_links WHERE ${ofDraft}`, [slug])).toEqual([
    { tried_as: null },
  ])
})
