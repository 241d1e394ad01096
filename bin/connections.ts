// `npm run connections -- add oidc|add saml|list|show|check|update|disable|enable|remove`: manages the
// identity providers that users sign in with.
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import type { ListedConnection } from '../lib/sso/manage'
import type { Provider, Flags as ProviderFlags } from '../lib/sso/provider'
import { UsageError } from '../lib/sso/usage-error'
import { runCommand } from './command-line'
import { withDatabaseAsOwner } from './local'

const usageOfAll = `  Every add:
    --name TEXT         the label of its button; by default the slug
    --list              shows a button on the sign-in page
    --provision         creates a user for everybody of the domains who signs in
    --allow-passwords   lets users of the domains have a password too; by default they may only use SSO
npm run connections -- update SLUG --metadata FILE
    replaces the endpoint and the certificates of a SAML provider with those of its current metadata
npm run connections -- list            lists all connections. --json: one object a line
npm run connections -- show SLUG       shows a connection, and what to enter at the provider
npm run connections -- check SLUG      asks the provider, and names what is wrong
npm run connections -- disable SLUG    ends all sessions of the connection, and lets no new one begin
npm run connections -- enable SLUG     lets users sign in through a disabled connection again
npm run connections -- remove SLUG     disables a connection, and forgets who its users are there

A slug names the connection in URLs and in the log: lower-case letters, digits and hyphens.
Uses DIRECT_DATABASE_URL, else DATABASE_URL.`

const flagsOfAdd = {
  domain: { type: 'string', multiple: true },
  name: { type: 'string' },
  list: { type: 'boolean' },
  provision: { type: 'boolean' },
  'allow-passwords': { type: 'boolean' },
} as const

type Flags = ProviderFlags & {
  domain?: string[]
  name?: string
  list?: boolean
  provision?: boolean
  'allow-passwords'?: boolean
}

async function add(provider: Provider, slug: string, flags: Flags): Promise<void> {
  const { asciiDomain, slugPattern } = await import('../lib/sso/connection')
  const { addConnection, ConnectionConflict, endPasswordSessions } = await import('../lib/sso/manage')
  if (!slugPattern.test(slug))
    throw new UsageError(`“${slug}” is not a slug: use at most 63 lower-case letters, digits and hyphens.`)
  const { domain: given = [] } = flags
  if (given.length === 0) throw new UsageError('Name at least one --domain.')
  const ascii = given.map((name) => {
    const domain = asciiDomain(name.trim())
    if (!domain) throw new UsageError(`“${name}” is not a domain, like example.com.`)
    return domain
  })
  const domains = [...new Set(ascii)]
  const { NewConnectionName } = await import('../lib/sso/settings-as-entered')
  const name = NewConnectionName.safeParse(flags.name ?? slug)
  if (!name.success) throw new UsageError(`--name ${name.error.issues[0]!.message}.`)
  await addConnection({
    slug,
    name: name.data,
    ...(await provider.add.settingsFrom(slug, flags, read)),
    domains,
    provision: flags.provision ?? false,
    listed: flags.list ?? false,
    allowPasswords: flags['allow-passwords'] ?? false,
  }).catch((error) => {
    throw error instanceof ConnectionConflict ? new UsageError(error.message) : error
  })
  console.log(`Added ${slug}.`)
  const restricted = flags['allow-passwords'] ? 0 : await endPasswordSessions(domains)
  if (restricted > 0) {
    console.log(`Users of its domains who can’t use a password: ${restricted}.`)
    console.log('To exempt one, for emergencies: npm run users -- allow-password EMAIL')
  }
  await printEntries(await existing(slug))
  console.log(`\nThen: npm run connections -- check ${slug}`)
}

/** Returns the bytes of a file, or of stdin for -. */
async function read(file: string): Promise<Buffer> {
  return (file === '-' ? buffer(process.stdin) : readFile(file)).catch(() => {
    throw new UsageError(`${file === '-' ? 'stdin' : file} can’t be read.`)
  })
}

/** Prints what an operator has to enter at the provider. */
async function printEntries(connection: ListedConnection): Promise<void> {
  const { providerOf } = await import('../lib/sso/kinds')
  console.log('\nAt the identity provider, enter:')
  for (const [label, value] of Object.entries((await providerOf(connection)).describe(connection).entries))
    console.log(`  ${label.padEnd(28)} ${value}`)
}

/** Replaces the endpoint and the certificates of a SAML provider with those of its current metadata. */
async function update(connection: ListedConnection, { metadata }: ProviderFlags): Promise<void> {
  const { isSaml } = await import('../lib/sso/connection')
  const { updateProvider } = await import('../lib/sso/manage')
  const { describe, withMetadata } = await import('../lib/sso/saml/operator')
  const { slug } = connection
  if (!isSaml(connection)) throw new UsageError(`${slug} has no metadata to update: it is not a SAML connection.`)
  const settings = await withMetadata(connection.settings, metadata, read)
  const { issuer, ssoUrl, certificates } = settings
  if (!(await updateProvider(connection, { issuer, ssoUrl, certificates })))
    throw new UsageError(
      `The metadata is of ${issuer}, but ${slug} is ${connection.settings.issuer}. Add it as another connection.`,
    )
  for (const line of [`Updated ${slug}.`, ...describe({ ...connection, settings }).settings]) console.log(line)
}

async function existing(slug: string): Promise<ListedConnection> {
  const { listConnections } = await import('../lib/sso/manage')
  const [connection] = await listConnections(slug)
  if (!connection) throw new UsageError(`There is no connection ${slug}. Add it with npm run connections -- add`)
  return connection
}

async function enable(connection: ListedConnection): Promise<void> {
  const { enableConnection } = await import('../lib/sso/manage')
  await enableConnection(connection)
  const was = connection.disabledAt ? ' again' : '; it was not disabled'
  console.log(`Users can sign in through ${connection.slug}${was}.`)
}

async function disable(connection: ListedConnection): Promise<void> {
  const { disableConnection } = await import('../lib/sso/manage')
  reportEnded(`Disabled ${connection.slug}.`, await disableConnection(connection))
  await reportWithoutWayIn(connection, connection.allowPasswords)
}

async function remove(connection: ListedConnection): Promise<void> {
  const { removeConnection } = await import('../lib/sso/manage')
  reportEnded(`Removed ${connection.slug}.`, await removeConnection(connection))
  await reportWithoutWayIn(connection, true)
}

/** Prints how many users can't sign in, and what lets them. `mayReset`: their domains permit a password. */
async function reportWithoutWayIn({ domains }: ListedConnection, mayReset: boolean): Promise<void> {
  const { countWithoutWayIn } = await import('../lib/sso/manage')
  const count = await countWithoutWayIn(domains)
  if (count === 0) return
  console.log(`Users of its domains who are left without a way in: ${count}.`)
  if (mayReset) return console.log('They can choose a password by a reset link: npm run users -- invite EMAIL')
  for (const domain of domains)
    console.log(`To let them in by a password: npm run users -- allow-password --domain ${domain}`)
}

function reportEnded(done: string, ended: number): void {
  console.log(`${done} Sessions ended: ${ended}.`)
  if (ended > 0)
    console.log(
      `Services that check only the signature accept their JWTs for up to ${inUnits(lifetimes.sessionToken, 'en')}.`,
    )
}

async function list(json = false): Promise<void> {
  const { listConnections } = await import('../lib/sso/manage')
  for (const connection of await listConnections()) {
    const { slug, name, settings, domains, users, provision, listed, allowPasswords, disabledAt } = connection
    const { kind, issuer } = settings
    const shown = { slug, name, kind, issuer, domains, users, provision, listed, allowPasswords, disabledAt }
    console.log(json ? JSON.stringify(shown) : summaryOf(connection))
  }
}

function summaryOf(connection: ListedConnection): string {
  const { slug, settings, domains, users, provision, listed, allowPasswords, disabledAt } = connection
  return [
    slug,
    settings.kind,
    settings.issuer,
    domains.join(','),
    `${users} users`,
    ...(provision ? ['provisions'] : []),
    ...(listed ? ['has a button'] : []),
    ...(allowPasswords ? ['passwords allowed'] : []),
    ...(disabledAt ? [`disabled since ${disabledAt.toISOString()}`] : []),
  ].join('  ')
}

async function show(connection: ListedConnection): Promise<void> {
  const { providerOf } = await import('../lib/sso/kinds')
  const { settings } = (await providerOf(connection)).describe(connection)
  for (const line of [summaryOf(connection), ...settings]) console.log(line)
  await printEntries(connection)
}

async function check(connection: ListedConnection): Promise<void> {
  const { providerOf } = await import('../lib/sso/kinds')
  const { works, summary, problems } = await (await providerOf(connection)).check(connection)
  if (!works) throw new Error(`${connection.slug}: ${summary}`)
  console.log(`${connection.slug}: ${summary}`)
  for (const problem of [...problems, ...(connection.disabledAt ? ['The connection is disabled.'] : [])])
    console.log(`  ${problem}`)
}

const { kinds } = await import('../lib/sso/kinds')
const load = async ([name, kind]: [string, (typeof kinds)[keyof typeof kinds]]) =>
  [name, (await kind.provider()) as Provider] as const
const providers = await Promise.all(Object.entries(kinds).map(load))
const flagsOfKinds = Object.assign({}, ...providers.map(([, { add }]) => add.flags)) as Provider['add']['flags']
const ofConnection = (act: (connection: ListedConnection) => Promise<void>) => ({
  parameters: ['SLUG'],
  run: (_: unknown, slug: string) => withDatabaseAsOwner(async () => act(await existing(slug))),
})
const additionOf = ([name, provider]: (typeof providers)[number]) => [
  `add ${name}`,
  {
    parameters: ['SLUG'],
    flags: Object.keys({ ...flagsOfAdd, ...provider.add.flags }),
    run: (flags: Flags, slug: string) => withDatabaseAsOwner(() => add(provider, slug, flags)),
  },
]
runCommand({
  usage: [...providers.map(([, { add }]) => add.usage), usageOfAll].join('\n'),
  options: { ...flagsOfKinds, ...flagsOfAdd, json: { type: 'boolean' } },
  commands: {
    ...Object.fromEntries(providers.map(additionOf)),
    update: {
      parameters: ['SLUG'],
      flags: ['metadata'],
      run: (flags, slug) => withDatabaseAsOwner(async () => update(await existing(slug), flags)),
    },
    list: { flags: ['json'], run: ({ json }) => withDatabaseAsOwner(() => list(json)) },
    show: ofConnection(show),
    check: ofConnection(check),
    disable: ofConnection(disable),
    enable: ofConnection(enable),
    remove: ofConnection(remove),
  },
})
