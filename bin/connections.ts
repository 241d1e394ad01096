// `npm run connections`: manages the identity providers that users sign in with.
import { type Command, Option } from 'commander'
import { lifetimes } from '../lib/contract/lifetimes'
import { fetchBounded } from '../lib/outgoing'
import type {
  ConnectionChange,
  ListedConnection,
  NewConnection,
  StoredConnection,
} from '../lib/sso/manage/connections'
import type { LinksAfterwards } from '../lib/sso/manage/domains'
import type {
  Entered,
  Flag,
  Flags as ProviderFlags,
  ProviderSetup,
} from '../lib/sso/provider'
import { ProviderUrl } from '../lib/sso/urls'
import { formatDuration } from '../lib/texts/durations'
import { UsageError } from '../lib/usage-error'
import {
  collect,
  confirm,
  newProgram,
  readInput,
  recordOperator,
  reportEnded,
  runCommand,
  yesOption,
} from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'

prepareCommand()
const { draftKind, parseDomain, isSaml, slugPattern } = await import(
  '../lib/sso/connection'
)
const { kinds, loadSetup } = await import('../lib/sso/kinds')
const connections = await import('../lib/sso/manage/connections')
const { listConnections, updateConnection } = connections
const domainCommands = await import('./connection-domains')
const { describeTrial, endPasswords, listDomains } = domainCommands
const { printRejected, printTest } = await import('./connection-sign-ins')
const directories = await import('./scim-tokens')
const setupLinks = await import('./setup-links')
const { countDisabled } = await import('../lib/scim/manage')
const { prepareMove } = await import('../lib/sso/manage/prepare-move')
const { logMove, readLinks } = await import('../lib/sso/manage/same-users')
const { describeCertificate } = await import('../lib/sso/saml/certificates')
const { rotateKey } = await import('../lib/sso/saml/setup')
const { reencryptSecondFactors } = await import('../lib/second-factor/encryption')
const { decryptSecrets } = await import('../lib/sso/secrets')
const { prisma } = await import('../lib/database/prisma')
const { writeEvent } = await import('../lib/event/record')
const { reencryptDrafts } = await import('../lib/sso/setup/re-encrypt-drafts')
const { NewConnectionName } = await import('../lib/sso/manage/settings-as-entered')

const maxSessionHours = lifetimes.session / (60 * 60)
const jwtLifetime = formatDuration(lifetimes.sessionToken, 'en')

const ownFlags: Record<string, Flag> = {
  domain: {
    value: 'domain',
    repeats: true,
    text: 'a domain of its users, at least one; repeat it for several. With update, adds a domain, in trial',
  },
  beside: {
    value: 'slug',
    text: 'the connection that is live for one of the domains, to prepare a change',
  },
  name: { value: 'text', text: 'the label of its button; by default the slug' },
  list: { text: 'shows a button on the sign-in page' },
  provision: {
    text: 'creates unknown users of the domains when they first sign in',
  },
  'session-hours': {
    value: 'hours',
    text: `renews its sessions for 1 to ${maxSessionHours} hours at most; the last JWT ends up to ${jwtLifetime} later`,
  },
  'allow-passwords': {
    text: 'lets users of the domains have a password too; by default they may only use SSO',
  },
}

const ownFlagsOfAdd: Record<string, Flag> = {
  ...ownFlags,
  activate: {
    text: 'makes the connection live at once, without a trial: users of the domains must use it',
  },
}

const ownFlagsOfUpdate: Record<string, Flag> = {
  ...ownFlags,
  'remove-domain': { value: 'domain', repeats: true, text: 'removes a domain' },
  'same-users': {
    text: 'with a new --issuer or --metadata, says that its users have the same subjects there; if not, people get the accounts of others',
  },
  unlink: { text: 'with --remove-domain, deletes the links of the users of the domain' },
  'keep-links': {
    text: 'with --remove-domain, lets the provider go on signing in the linked users',
  },
}

type Flags = ProviderFlags &
  Partial<
    Record<'domain' | 'remove-domain', string[]> &
      Record<'name' | 'session-hours' | 'beside', string>
  > &
  Partial<
    Record<
      | 'list'
      | 'provision'
      | 'allow-passwords'
      | 'activate'
      | 'unlink'
      | 'keep-links'
      | 'same-users',
      boolean
    >
  >

type DirectoryFlags = { keep?: string; revoke?: string }
type InviteFlags = {
  domain?: string[]
  beside?: string
  name?: string
  mayApply?: true
  days?: string
  startOver?: true
  revoke?: true
}
type ActivateFlags = { domain?: string[]; from?: string; untested?: true }

async function add(provider: ProviderSetup, slug: string, flags: Flags): Promise<void> {
  demandSlug(slug)
  const domains = readDomains(flags.domain)
  if (domains.length === 0) throw new UsageError('Name at least one --domain.')

  const { activate, beside } = flags
  if (activate && beside)
    throw new UsageError(
      '--beside prepares a change, so it can’t be used with --activate.',
    )

  const { settings, secrets, notes } = await provider.add.settingsFrom(
    { slug, domains },
    flags,
    read,
  )

  const own = {
    name: slug,
    provision: false,
    listed: false,
    allowPasswords: false,
    ...readOwnSettings(flags),
  }

  await connections.addConnection({
    slug,
    ...own,
    settings,
    secrets: secrets!,
    domains,
    activate,
    beside,
  })

  console.log([...notes, `Added ${slug}.`].join('\n'))
  const added = await requireConnection(slug)
  if (activate) await endPasswords(added.allowPasswords ? [] : domains)
  else for (const line of await describeTrial(added)) console.log(line)

  await printEntries(added)
  console.log(`\nThen: npm run connections -- check ${slug}`)
}

function demandSlug(slug: string): void {
  if (!slugPattern.test(slug))
    throw new UsageError(
      `“${slug}” is not a slug: use at most 63 lower-case letters, digits and hyphens.`,
    )
}

function readDomains(given: string[] = []): string[] {
  const domains = given.map((name) => {
    const domain = parseDomain(name.trim())
    if (!domain) throw new UsageError(`“${name}” is not a domain, like example.com.`)
    return domain
  })
  return [...new Set(domains)]
}

type OwnSettings = Partial<
  Pick<NewConnection, 'name' | 'provision' | 'listed' | 'allowPasswords' | 'sessionHours'>
>

/** Returns the settings that all kinds of connections have, if their flags are given. */
function readOwnSettings(flags: Flags): OwnSettings {
  const settings: OwnSettings = {}

  const label = NewConnectionName.optional().safeParse(flags.name)
  if (!label.success) throw new UsageError(`--name ${label.error.issues[0]!.message}.`)
  if (label.data !== undefined) settings.name = label.data

  if (flags.provision !== undefined) settings.provision = flags.provision
  if (flags.list !== undefined) settings.listed = flags.list

  const allowPasswords = flags['allow-passwords']
  if (allowPasswords !== undefined) settings.allowPasswords = allowPasswords

  const hours = flags['session-hours']
  if (hours !== undefined) settings.sessionHours = readSessionHours(hours)

  return settings
}

/** Returns null for '', which removes the setting. */
function readSessionHours(text: string): number | null {
  if (text === '') return null

  const hours = Number(text)
  if (!/^\d{1,3}$/.test(text) || hours < 1 || hours > maxSessionHours)
    throw new UsageError(
      `--session-hours must be a whole number from 1 to ${maxSessionHours}.`,
    )

  return hours
}

const maxMetadataBytes = 1024 * 1024

async function read(url: string): Promise<Buffer> {
  if (!/^https?:/i.test(url)) return readInput(url)

  const { error } = ProviderUrl.safeParse(url)
  if (error) throw new UsageError(`--metadata ${error.issues[0]!.message}.`)

  const response = await fetchMetadata(url)
  if (!response.ok)
    throw new Error(`${url} can’t be fetched: the response is ${response.status}.`)

  return Buffer.from(await response.arrayBuffer())
}

async function fetchMetadata(url: string): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(10_000)
    return await fetchBounded(url, { signal }, maxMetadataBytes)
  } catch (error) {
    throw new Error(`${url} can’t be fetched: ${(error as Error).message}`)
  }
}

/**
 * Prints the values that an operator enters at the provider. With `since`, prints only
 * those that have changed.
 */
async function printEntries(
  connection: ListedConnection,
  since?: ListedConnection,
): Promise<void> {
  const { describe } = await loadSetup(connection)
  const known = since ? describe(since).entries : {}
  const entries = Object.entries(describe(connection).entries).filter(
    ([label, value]) => value !== known[label],
  )
  if (entries.length > 0) console.log('\nAt the identity provider, enter:')

  for (const [label, value] of entries) console.log(`  ${label.padEnd(28)} ${value}`)
}

async function update(slug: string, flags: Flags): Promise<void> {
  const before = await requireConnection(slug)
  const { settings: stored } = before
  const { add } = await loadSetup(before)
  const unknown = Object.keys(flags).find(
    (flag) => !(flag in add.flags || flag in ownFlagsOfUpdate),
  )
  if (unknown)
    throw new UsageError(
      `--${unknown} is not a flag of a connection of the kind ${stored.kind}.`,
    )

  const removedDomains = readDomains(flags['remove-domain'])
  const added = readDomains(flags.domain)
  const links = readLinksAfterwards(flags)
  const domains = [
    ...new Set([...before.domains, ...before.trialDomains, ...added]),
  ].filter((domain) => !removedDomains.includes(domain))
  const sameUsers = flags['same-users'] === true
  if (sameUsers && !flags.issuer && !flags.metadata)
    throw new UsageError('--same-users needs a new --issuer or --metadata.')

  const given = await add.settingsFrom({ slug, domains, stored }, flags, read)
  const entered = sameUsers ? await prepareMove(before, given) : given
  const change = {
    ...entered,
    sameUsers,
    ...readOwnSettings(flags),
    domains: added,
    removedDomains,
    links,
    beside: flags.beside,
  }
  const after = await apply(change, before)
  if (sameUsers) await reportMove(before, after)
  if (links === 'unlink') await domainCommands.unlink(after, removedDomains)

  // a new client at the provider needs all of our values, not only the changed ones
  const isSameClient = readClientId(stored) === readClientId(entered.settings)
  await printEntries(after, isSameClient ? before : undefined)
}

/** Prints what the operator must check after the issuer has changed. */
async function reportMove(
  before: ListedConnection,
  { slug, settings }: ListedConnection,
): Promise<void> {
  logMove(before, settings.issuer)
  const { issuer, kind } = before.settings
  const links = await readLinks(before)
  if (!links) return console.log('No user is linked yet.')

  const { count, email, subject } = links
  const flag = kind === 'oidc' ? `--issuer ${issuer}` : '--metadata OLD.xml'
  console.log(
    `${count} links now name ${settings.issuer}. For example, ${email} is ${subject}.`,
  )
  console.log(
    `Try one sign-in now; if it shows another user, undo: npm run connections -- update ${slug} ${flag} --same-users`,
  )
}

/** Returns what happens to the links of the users of a removed domain. */
function readLinksAfterwards(flags: Flags): LinksAfterwards {
  const { unlink, 'keep-links': keep } = flags
  if (unlink && keep) throw new UsageError('Pass --unlink or --keep-links, not both.')
  if ((unlink || keep) && !flags['remove-domain'])
    throw new UsageError('--unlink and --keep-links need --remove-domain.')

  if (unlink) return 'unlink'
  return keep ? 'keep' : null
}

function readClientId(settings: ListedConnection['settings']): string | null {
  return 'clientId' in settings ? settings.clientId : null
}

async function apply(
  change: ConnectionChange & Entered,
  before: ListedConnection,
): Promise<ListedConnection> {
  await updateConnection(before, change)
  const after = await requireConnection(before.slug)
  const lines = describeChanges(before, after)
  if (change.secrets && !change.sameUsers) lines.push('secrets: replaced')

  console.log(
    [
      `Updated ${before.slug}.${lines.length > 0 ? '' : ' Nothing has changed.'}`,
      ...lines,
    ].join('\n  '),
  )

  for (const note of change.notes) console.log(note)

  const added = after.trialDomains.filter(
    (domain) => !before.trialDomains.includes(domain),
  )
  if (added.length > 0)
    for (const line of await describeTrial({ ...after, trialDomains: added }))
      console.log(line)

  if (before.allowPasswords && !after.allowPasswords) await endPasswords(after.domains)

  return after
}

function describeChanges(before: ListedConnection, after: ListedConnection): string[] {
  const [old, current] = [formatSettings(before), formatSettings(after)]
  const changed = Object.keys({ ...old, ...current }).filter(
    (key) => old[key] !== current[key],
  )

  return changed.flatMap((key) =>
    key === 'certificates'
      ? compareCertificates(before, after)
      : `${key}: ${old[key] ?? 'none'} → ${current[key] ?? 'none'}`,
  )
}

function formatSettings(connection: ListedConnection): Record<string, string> {
  const { id, users, encryptedSecrets, settings, triedAt, createdAt, ...own } = connection
  const entries = Object.entries({ ...own, ...settings })
  return Object.fromEntries(entries.map(([key, value]) => [key, formatValue(value)]))
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(', ') || 'none'
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)

  const text = String(value ?? 'none')
  return text.startsWith('-----BEGIN ') ? describeCertificate(text) : text
}

/** Returns which certificates of a SAML provider an update has added and removed. */
function compareCertificates(
  before: ListedConnection,
  after: ListedConnection,
): string[] {
  if (!isSaml(before) || !isSaml(after)) return []

  const [old, current] = [before.settings.certificates, after.settings.certificates]
  const added = current.filter((pem) => !old.includes(pem))
  const removed = old.filter((pem) => !current.includes(pem))

  return [
    ...added.map((pem) => `certificate added: ${describeCertificate(pem)}`),
    ...removed.map((pem) => `certificate removed: ${describeCertificate(pem)}`),
  ]
}

async function rotate(slug: string, { drop = false }: { drop?: boolean }): Promise<void> {
  const connection = await requireConnection(slug)
  if (!isSaml(connection))
    throw new UsageError(`${slug} has no key of ours: it is not a SAML connection.`)

  await apply(await rotateKey(connection, drop), connection)
}

async function reencrypt(): Promise<void> {
  const connections = await listConnections()
  const problems: string[] = []

  for (const connection of connections)
    try {
      const secrets = await decryptSecrets(connection)
      await updateConnection(connection, { secrets, reencrypts: true })
    } catch (error) {
      const { cause = error } = error as Error
      problems.push(`${connection.slug}: ${(cause as Error).message}`)
    }

  console.log(
    `Connections encrypted with the first key: ${connections.length - problems.length}.`,
  )
  problems.push(...(await reencryptDrafts()))
  const { done, failed } = await reencryptSecondFactors()
  if (done > 0) console.log(`Second factors encrypted with the first key: ${done}.`)
  if (failed > 0)
    problems.push(
      `No key fits ${failed} second factors: npm run users -- remove-second-factor`,
    )

  if (problems.length > 0) throw new Error(problems.join('\n'))

  await recordReencrypted(done)
  console.log('Once every process has that key first, ENCRYPTION_KEY needs no other.')
}

/** Writes the event of second factors whose secrets were encrypted again. */
async function recordReencrypted(count: number): Promise<void> {
  if (count > 0) await writeEvent(prisma(), 'keys_reencrypted', { count })
}

async function requireConnection(slug: string): Promise<ListedConnection> {
  const [connection] = await listConnections(slug)
  if (connection) return connection

  const [stored] = await connections.listStoredConnections(slug)
  if (stored?.kind === draftKind)
    throw new UsageError(
      `${slug} is a draft: the values of its provider are not known yet. See npm run connections -- show ${slug}`,
    )

  return throwUnknown(slug)
}

/** Also returns a connection whose settings are invalid. */
async function requireStored(slug: string): Promise<StoredConnection> {
  const [connection] = await connections.listStoredConnections(slug)
  return connection ?? throwUnknown(slug)
}

function throwUnknown(slug: string): never {
  throw new UsageError(
    `There is no connection ${slug}. Add it with npm run connections -- add`,
  )
}

async function invite(slug: string, flags: InviteFlags): Promise<void> {
  demandSlug(slug)
  const { domain, revoke, ...others } = flags
  if (!revoke)
    return setupLinks.printInvitation(slug, { ...others, domains: readDomains(domain) })

  if (domain || Object.keys(others).length > 0)
    throw new UsageError('--revoke stands alone: it only ends the link.')
  await setupLinks.revokeInvitation(await requireStored(slug))
}

async function enable(slug: string): Promise<void> {
  const connection = await requireConnection(slug)
  await connections.enableConnection(connection)
  const was = connection.disabledAt ? ' again' : '; it was not disabled'
  console.log(`Users can sign in through ${slug}${was}.`)
  await setupLinks.printEntered(connection)
}

async function disable(slug: string): Promise<void> {
  const connection = await requireStored(slug)
  const ended = await connections.disableConnection(connection)
  reportEnded(`Disabled ${slug}.`, ended)
  await reportWithoutWayIn(connection, connection.allowPasswords)
}

async function remove(slug: string, given: { yes?: true }): Promise<void> {
  const connection = await requireStored(slug)
  await confirm(
    `This removes ${slug}, and ends its sessions. Users linked to it: ${connection.users}. Domains: ${listDomains(connection)}. It can’t be undone.`,
    given,
  )

  const disabled = await countDisabled(connection)
  const ended = await connections.removeConnection(connection)
  reportEnded(`Removed ${slug}.`, ended)
  directories.reportDisabled(disabled)
  await reportWithoutWayIn(connection, true)
}

/**
 * Prints how many users can't sign in, and a command that helps them. `mayReset`: their
 * domains permit a password.
 */
async function reportWithoutWayIn(
  { domains }: StoredConnection,
  mayReset: boolean,
): Promise<void> {
  const count = await connections.countWithoutWayIn(domains)
  if (count === 0) return

  console.log(`Users of its domains who can no longer sign in: ${count}.`)
  if (mayReset)
    return console.log(
      'They can choose a password by a reset link: npm run users -- invite EMAIL',
    )

  for (const domain of domains)
    console.log(
      `To allow them a password: npm run users -- allow-password --domain ${domain}`,
    )
}

const jsonFields =
  'slug name kind issuer domains trialDomains users provision listed allowPasswords sessionHours disabledAt'

async function list({ json }: { json?: boolean }): Promise<void> {
  for (const connection of await listConnections()) {
    const values = { ...connection.settings, ...connection }
    console.log(
      json ? JSON.stringify(values, jsonFields.split(' ')) : summarize(connection),
    )
  }

  await setupLinks.printDrafts(json === true)
}

function summarize(connection: ListedConnection): string {
  const {
    slug,
    settings,
    users,
    provision,
    listed,
    allowPasswords,
    sessionHours,
    disabledAt,
  } = connection

  const extras = [
    provision && 'provisions',
    listed && 'has a button',
    sessionHours && `renewed for ${sessionHours} hours`,
    allowPasswords && 'passwords allowed',
    disabledAt && `disabled since ${disabledAt.toISOString()}`,
  ]

  const always = [
    slug,
    settings.kind,
    settings.issuer,
    listDomains(connection),
    `users: ${users}`,
  ]

  return [...always, ...extras.filter(Boolean)].join('  ')
}

async function show(slug: string): Promise<void> {
  if (await setupLinks.printDraft(slug)) return

  const connection = await requireConnection(slug)
  const { settings } = (await loadSetup(connection)).describe(connection)
  console.log([summarize(connection), ...settings].join('\n'))
  await directories.printTokens(connection)
  await setupLinks.printLinks(connection)
  await printEntries(connection)
}

async function check(slug: string): Promise<void> {
  const connection = await requireConnection(slug)
  const provider = await loadSetup(connection)
  const { summary, problems } = await provider.check(connection)
  if (connection.disabledAt) problems.push('The connection is disabled.')
  problems.push(...(await domainCommands.findForgottenTrial(connection)))
  console.log([`${slug}: ${summary}`, ...problems].join('\n  '))
}

/** Adds the flags to a command. `--no-FLAG` switches one without a value off. */
function addFlags(command: Command, flags: Record<string, Flag>): void {
  for (const [name, { value, repeats, text }] of Object.entries(flags)) {
    const option = new Option(value ? `--${name} <${value}>` : `--${name}`, text)
    command.addOption(repeats ? option.argParser(collect) : option)
    if (!value) command.addOption(new Option(`--no-${name}`).hideHelp())
  }
}

/** Returns the flags that were given to a command, by name, such as `client-id`. */
function readFlags(command: Command): Flags {
  const entries = command.options
    .filter(({ negate }) => !negate)
    .map((option) => [option.name(), command.getOptionValue(option.attributeName())])

  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

const program = newProgram(
  'npm run connections --',
  'Manages the identity providers that users sign in with. A slug names a connection in URLs and in the log: lower-case letters, digits and hyphens. Uses DIRECT_DATABASE_URL, else DATABASE_URL.',
)
recordOperator(program)
const flagsOfUpdate = { ...ownFlagsOfUpdate }

const addition = program
  .command('add')
  .description('adds a connection: add oidc <slug>, or add saml <slug>')
for (const [kind, { setup: load }] of Object.entries(kinds)) {
  const provider = await load()
  const { description, flags } = provider.add
  Object.assign(flagsOfUpdate, flags)

  const command = addition.command(`${kind} <slug>`).description(description)
  addFlags(command, { ...flags, ...ownFlagsOfAdd })
  command.action(
    withDatabaseAsOwner((slug: string) => add(provider, slug, readFlags(command))),
  )
}

const change = program
  .command('update <slug>')
  .description(
    'changes a connection. Accepts the flags of its add. Another issuer needs --same-users. Without its flag, a setting does not change. --no-FLAG switches a setting off. An empty text removes an optional setting. Without any flag, reads a client secret from stdin: update SLUG < SECRET',
  )
addFlags(change, flagsOfUpdate)
change.action(withDatabaseAsOwner((slug: string) => update(slug, readFlags(change))))

program
  .command('activate <slug>')
  .description(
    'ends the trial of a connection: addresses of its domains lead to it, and their users can’t use a password',
  )
  .option('--domain <domain>', 'only this domain; repeat it for several', collect)
  .option('--from <slug>', 'the connection from which the domains move')
  .option('--untested', 'although nobody has signed in through it yet')
  .action(
    withDatabaseAsOwner(async (slug: string, flags: ActivateFlags) => {
      const domains = flags.domain && readDomains(flags.domain)
      await domainCommands.activate(await requireConnection(slug), { ...flags, domains })
    }),
  )

program
  .command('deactivate <slug>')
  .description('begins the trial again: passwords of its domains can be used')
  .option('--domain <domain>', 'only this domain; repeat it for several', collect)
  .action(
    withDatabaseAsOwner(async (slug: string, flags: { domain?: string[] }) => {
      const domains = flags.domain && readDomains(flags.domain)
      await domainCommands.deactivate(await requireConnection(slug), domains)
    }),
  )

program
  .command('try <slug>')
  .description(
    'prints a URL that tests a sign-in: the page after it shows what the provider sends. Works for a disabled connection',
  )
  .action(
    withDatabaseAsOwner(async (slug: string) => printTest(await requireConnection(slug))),
  )

program
  .command('invite <slug>')
  .description(
    'prints a setup link, with which the IT administrator of a customer enters the values of the provider. A new slug becomes a draft. Ends the earlier link of the connection',
  )
  .option(
    '--domain <domain>',
    'a domain of its users, in trial; repeat it for several. A draft needs one',
    collect,
  )
  .option('--beside <slug>', ownFlags.beside!.text)
  .option('--name <text>', 'the label of a new draft; by default the slug')
  .option(
    '--may-apply',
    'lets the holder activate the connection after a successful test, or renew an enabled one: only for verified contacts',
  )
  .option('--days <days>', 'how long the link works, 1 to 30 days; by default 7')
  .option('--start-over', 'first makes a connection without users a draft again')
  .option('--revoke', 'makes no link, and ends the present one')
  .action(withDatabaseAsOwner(invite))

program
  .command('rejected <slug>')
  .description('lists the accounts of the provider that were rejected in the past 7 days')
  .action(
    withDatabaseAsOwner(async (slug: string) =>
      printRejected(await requireConnection(slug)),
    ),
  )

program
  .command('rotate-key <slug>')
  .description('makes a second key of ours for a SAML connection')
  .option('--drop', 'drops the first one')
  .action(withDatabaseAsOwner(rotate))

program
  .command('re-encrypt')
  .description('encrypts all secrets with the first key of ENCRYPTION_KEY')
  .action(withDatabaseAsOwner(reencrypt))

program
  .command('scim-token <slug>')
  .description('makes a token for the directory of a connection (SCIM), shown only once')
  .option('--keep <time>', 'how long the old token works, such as 7d; by default not')
  .option('--revoke <hint>', 'instead, revokes the token that ends with these characters')
  .action(
    withDatabaseAsOwner(async (slug: string, flags: DirectoryFlags) =>
      directories.changeToken(await requireConnection(slug), flags),
    ),
  )

program
  .command('list')
  .description('lists all connections')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(list))

program
  .command('show <slug>')
  .description('shows a connection, and what to enter at the provider')
  .action(withDatabaseAsOwner(show))

program
  .command('check <slug>')
  .description('sends requests to the provider, and prints problems')
  .action(withDatabaseAsOwner(check))

program
  .command('disable <slug>')
  .description('ends all sessions of the connection, and rejects new ones')
  .action(withDatabaseAsOwner(disable))

program
  .command('enable <slug>')
  .description('lets users sign in through a disabled connection again')
  .action(withDatabaseAsOwner(enable))

program
  .command('remove <slug>')
  .description('deletes a connection, and the links of its users to it')
  .option(...yesOption)
  .action(withDatabaseAsOwner(remove))

runCommand(program)
