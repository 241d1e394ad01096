// The commands of `npm run connections` about domains: in trial, live, and removed.
import {
  activateDomains,
  countDomainUsers,
  type DomainUsers,
  deactivateDomains,
  isTried,
} from '../lib/sso/manage/activate'
import { endPasswordSessions } from '../lib/sso/manage/batches'
import {
  countWithoutWayIn,
  type ListedConnection,
  listConnections,
} from '../lib/sso/manage/connections'
import { countUsers, unlinkDomains } from '../lib/sso/manage/domains'
import { listRejected } from '../lib/sso/rejected'
import { UsageError } from '../lib/usage-error'
import { reportEnded } from './command-line'

const command = 'npm run connections --'

/** Returns the domains of a connection with their states, such as `example.com (live)`. */
export function listDomains({
  domains,
  trialDomains,
}: Pick<ListedConnection, 'domains' | 'trialDomains'>): string {
  const states = [
    ...domains.map((domain) => `${domain} (live)`),
    ...trialDomains.map((domain) => `${domain} (trial)`),
  ]
  return states.join(', ') || 'no domain'
}

/** Returns what an operator must know about a trial that begins. */
export async function describeTrial({
  slug,
  trialDomains,
}: ListedConnection): Promise<string[]> {
  const domains = trialDomains.join(', ')
  const lines = [
    'In trial: passwords and sessions stay.',
    `But this provider can already sign users of ${domains} in.`,
    `To test it: ${command} try ${slug}`,
    `When it works: ${command} activate ${slug}`,
  ]

  for (const domain of trialDomains) {
    const isUsed = (await countUsers(domain)) > 0 || (await findOwner(domain)) !== null
    if (!isUsed)
      lines.push(
        `${domain} has no users yet. To skip the trial: ${command} activate ${slug} --domain ${domain} --untested`,
      )
  }

  return lines
}

async function findOwner(domain: string): Promise<ListedConnection | null> {
  const all = await listConnections()
  return all.find(({ domains }) => domains.includes(domain)) ?? null
}

/** Ends the sessions that began with a password, in domains that now require SSO. */
export async function endPasswords(domains: string[]): Promise<void> {
  const restricted = await endPasswordSessions(domains)
  if (restricted.users === 0) return
  console.log(`Users of its domains who can’t use a password: ${restricted.users}.`)
  console.log('To exempt one, for emergencies: npm run users -- allow-password EMAIL')
}

type Flags = { domains?: string[] | undefined; from?: string; untested?: true }

/**
 * Makes a connection live, and prints what that changes. Repeating the command finishes an
 * interrupted one.
 */
export async function activate(
  connection: ListedConnection,
  { domains, from, untested }: Flags,
): Promise<void> {
  const { slug, disabledAt } = connection
  if (disabledAt)
    throw new UsageError(`${slug} is disabled. First: ${command} enable ${slug}`)
  if (!untested && !(await isTried(connection)))
    throw new UsageError(
      `Nobody has signed in through ${slug} yet. ${command} try ${slug}. To go on anyway: --untested`,
    )

  const old = from === undefined ? null : await requireOld(from)
  const wanted = { domains, from: from ?? null }
  const { moved, live } = await activateDomains(connection, wanted)

  let linkedToOld = 0
  for (const domain of live) {
    const counts = await countDomainUsers(domain, connection, old?.id ?? null)
    linkedToOld += counts.linkedToOld
    const moves = old && moved.includes(domain)
    const change = moves ? `moves from ${from} to ${slug}` : `is live at ${slug}`
    console.log([`${domain} ${change}.`, ...describeUsers(counts, slug, from)].join('\n'))
  }

  await reportRejected(connection)
  await reportPasswords(connection, live)
  if (old) printWaysBack(connection, old.slug, live, linkedToOld)
  else console.log(`To go back: ${command} deactivate ${slug}`)
}

async function reportRejected({ id, slug }: ListedConnection): Promise<void> {
  const rejected = await listRejected(id)
  const attempts = rejected.reduce((sum, { count }) => sum + count, 0)
  if (attempts === 0) return

  console.log(
    `  sign-in attempts rejected at ${slug} in the past 7 days: ${attempts} (connections -- rejected ${slug})`,
  )
}

async function requireOld(slug: string): Promise<ListedConnection> {
  const [old] = await listConnections(slug)
  if (!old) throw new UsageError(`There is no connection ${slug}.`)
  return old
}

function describeUsers(
  counts: DomainUsers,
  slug: string,
  from: string | undefined,
): string[] {
  const parts = [`users: ${counts.users}`, `linked to ${slug}: ${counts.linked}`]
  if (from) parts.push(`linked only to ${from}: ${counts.linkedOnlyToOld}`)
  parts.push(`may keep a password: ${counts.mayUsePassword}`)

  const factors = counts.withSecondFactor
  return [
    `  ${parts.join('   ')}`,
    ...(factors > 0
      ? [`  with a second factor: ${factors} (${slug} decides about factors from now on)`]
      : []),
  ]
}

async function reportPasswords(
  { allowPasswords }: ListedConnection,
  domains: string[],
): Promise<void> {
  const names = domains.join(', ')
  if (allowPasswords) return console.log(`Passwords of ${names} can still be used.`)

  const { sessions } = await endPasswordSessions(domains)
  reportEnded(`Passwords of ${names} can’t be used any more.`, sessions)
}

function printWaysBack(
  { slug }: ListedConnection,
  old: string,
  domains: string[],
  linked: number,
): void {
  const removal = domains.map((domain) => `--remove-domain ${domain}`).join(' ')
  console.log(
    `${old} can still sign in its ${linked} linked users, and link others. To take that away: ${command} update ${old} ${removal} --unlink`,
  )
  console.log(`To go back: ${command} activate ${old} --from ${slug}`)
}

/** Begins the trial of domains again, and prints what that changes. */
export async function deactivate(
  connection: ListedConnection,
  domains: string[] | undefined,
): Promise<void> {
  const { slug } = connection
  const changed = await deactivateDomains(connection, domains)
  if (changed.length === 0) return console.log(`${slug} has no live domain.`)

  const names = changed.join(', ')
  console.log(`${slug} is in trial for ${names}. Passwords of ${names} can be used.`)
  console.log(`Sessions and links stay. To go back: ${command} activate ${slug}`)
}

/** Deletes the links of the users of removed domains, and prints how many these were. */
export async function unlink(
  connection: ListedConnection,
  domains: string[],
): Promise<void> {
  const { slug } = connection
  const { users, sessions } = await unlinkDomains(connection, domains)
  reportEnded(`Users who are no longer linked to ${slug}: ${users}.`, sessions)

  const stranded = await countWithoutWayIn(domains)
  if (stranded > 0)
    console.log(
      `Users of ${domains.join(', ')} who can no longer sign in: ${stranded}. They can choose a password by a reset link: npm run users -- invite EMAIL`,
    )
}

const forgottenDays = 30

/** Returns a line if a connection has been in trial for long, but was never tried. */
export async function findForgottenTrial(
  connection: ListedConnection,
): Promise<string[]> {
  const { slug, trialDomains, createdAt } = connection
  const isOld = createdAt.getTime() < Date.now() - forgottenDays * 24 * 60 * 60 * 1000
  if (!isOld || trialDomains.length === 0 || (await isTried(connection))) return []

  return [
    `In trial for more than ${forgottenDays} days, but nobody has signed in: is it still needed? Its provider can sign users of ${trialDomains.join(', ')} in. To remove it: ${command} remove ${slug}`,
  ]
}
