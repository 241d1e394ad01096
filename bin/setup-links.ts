// The commands of `npm run connections` about setup links and drafts.
import { env } from '../lib/settings/env'
import { loadSetup } from '../lib/sso/kinds'
import type { ListedConnection } from '../lib/sso/manage/connections'
import { NewConnectionName } from '../lib/sso/manage/settings-as-entered'
import { type Draft, findDraft, listDrafts } from '../lib/sso/setup/draft'
import { type Invited, invite, maxLinkDays, revokeLink } from '../lib/sso/setup/invite'
import { listLinks } from '../lib/sso/setup/manage-links'
import { ssoUrl } from '../lib/sso/urls'
import { UsageError } from '../lib/usage-error'

const command = 'npm run connections --'

export type InviteFlags = {
  domains: string[]
  beside?: string
  name?: string
  mayApply?: true
  days?: string
  startOver?: true
}

/** Prints a new setup link, and what its holder can do. */
export async function printInvitation(slug: string, flags: InviteFlags): Promise<void> {
  const { domains, beside, mayApply = false, startOver = false } = flags
  const days = readDays(flags.days ?? '7')

  const invited = await invite({
    slug,
    name: readName(flags.name),
    domains,
    beside,
    mayActivate: mayApply,
    days,
    startOver,
  })

  console.error(
    `This is the setup link of ${slug} for ${days} days, which is not shown again. Earlier links of ${slug} have ended.`,
  )
  for (const line of describeRights(slug, invited, mayApply)) console.error(line)
  if (!env().SETUP_LINKS) console.error('The page exists only with SETUP_LINKS=true.')
  console.log(invited.url)
}

function readDays(text: string): number {
  const days = Number(text)
  if (!/^\d{1,2}$/.test(text) || days < 1 || days > maxLinkDays)
    throw new UsageError(`--days must be a whole number from 1 to ${maxLinkDays}.`)

  return days
}

function readName(text: string | undefined): string | undefined {
  const { data, error } = NewConnectionName.optional().safeParse(text)
  if (error) throw new UsageError(`--name ${error.issues[0]!.message}.`)

  return data
}

function describeRights(slug: string, { state }: Invited, mayApply: boolean): string[] {
  if (state === 'enabled')
    return [
      'Its holder can once replace the client secret, or import metadata of the same provider. They decide who signs in as every user of the connection: send the link to a verified contact only.',
    ]

  const enter =
    'Its holder can enter the values of the identity provider, and test them. The connection stays disabled, so nobody can sign in.'
  if (mayApply)
    return [
      enter,
      '--may-apply: after a successful test, its holder can activate the connection. Its provider then decides who signs in as every user of its domains: send the link to a verified contact only.',
    ]

  return [
    enter,
    `When they have finished: ${command} show ${slug}, then ${command} enable ${slug}, then ${command} activate ${slug}`,
  ]
}

/** Ends the setup link of a connection or draft. */
export async function revokeInvitation(connection: {
  id: string
  slug: string
}): Promise<void> {
  const { slug } = connection
  if (!(await revokeLink(connection)))
    throw new UsageError(`${slug} has no setup link that works.`)

  console.log(`The setup link of ${slug} has ended.`)
}

/** Prints the setup links of a connection, the newest first. */
export async function printLinks(connection: { id: string }): Promise<void> {
  for (const link of await listLinks(connection)) console.log(describeLink(link))
}

/** Prints the values with which users sign in now, if they came from a setup link. */
export async function printEntered(connection: ListedConnection): Promise<void> {
  const entered = (await listLinks(connection)).find(({ changedAt }) => changedAt)
  if (!entered) return

  const { settings } = (await loadSetup(connection)).describe(connection)
  console.log(`These values came from a setup link. ${describeLink(entered)}`)
  console.log(`  issuer: ${connection.settings.issuer}`)
  for (const line of settings) console.log(`  ${line}`)
}

type Listed = Awaited<ReturnType<typeof listLinks>>[number]

function describeLink(link: Listed): string {
  const { createdAt, expiresAt, changedAt, triedAt, triedAs, endedAt } = link
  const parts = [
    `setup link: made ${createdAt.toISOString()}`,
    link.mayActivate && 'may apply',
    endedAt
      ? `ended ${endedAt.toISOString()}`
      : `${expiresAt > new Date() ? 'expires' : 'expired'} ${expiresAt.toISOString()}`,
    changedAt ? `values entered ${changedAt.toISOString()}` : 'nothing entered',
    changedAt && !triedAt && 'not tested',
    triedAt && `tested ${triedAt.toISOString()} as ${triedAs ?? 'a deleted user'}`,
  ]

  return parts.filter(Boolean).join(', ')
}

/** Prints a draft. Returns whether there is one with this slug. */
export async function printDraft(slug: string): Promise<boolean> {
  const draft = await findDraft(slug)
  if (!draft) return false

  console.log(summarizeDraft(draft))
  await printLinks(draft)
  console.log(`\nOur values for SAML: ${ssoUrl(slug, 'metadata')}`)
  console.log(
    `To enter the values of its provider yourself: ${command} add oidc ${slug}, or ${command} add saml ${slug}`,
  )

  return true
}

/** Prints all drafts, one a line. */
export async function printDrafts(json: boolean): Promise<void> {
  for (const draft of await listDrafts()) {
    const { slug, name, domains } = draft
    const values = { slug, name, kind: 'draft', domains: [], trialDomains: domains }
    console.log(json ? JSON.stringify(values) : summarizeDraft(draft))
  }
}

function summarizeDraft({ slug, domains, createdAt }: Draft): string {
  const trials = domains.map((domain) => `${domain} (trial)`)
  return [slug, 'draft', trials.join(', '), `made ${createdAt.toISOString()}`].join('  ')
}
