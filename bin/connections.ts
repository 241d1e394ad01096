// `npm run connections -- add oidc|add saml|list|show|check|update|disable|enable|remove`: manages the
// identity providers that users sign in with.
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import type { ListedConnection } from '../lib/sso/manage'
import type { Provider, Flags as ProviderFlags } from '../lib/sso/provider'
import { UsageError } from '../lib/sso/usage-error'
import { exitWhenPrinted } from './exit'
import { prepareLocally, readEnvFiles, rememberedPublicUrl } from './local'

const usageOfAll = `  Every add:
    --name TEXT         the label of its button; by default the slug
    --list              shows a button on the sign-in page
    --provision         creates a user for everybody of the domains who signs in
    --allow-passwords   lets users of the domains have a password too; by default they may only use SSO
npm run connections -- update SLUG --metadata FILE
    replaces the endpoint and the certificates of a SAML provider with those of its current metadata
npm run connections -- list            lists all connections
npm run connections -- show SLUG       shows a connection, and what to enter at the provider
npm run connections -- check SLUG      asks the provider, and names what is wrong
npm run connections -- disable SLUG    ends all sessions of the connection, and lets no new one begin
npm run connections -- enable SLUG     lets users sign in through a disabled connection again
npm run connections -- remove SLUG     disables a connection, and forgets who its users are there

A slug names the connection in URLs and in the log: lower-case letters, digits and hyphens.
Uses DIRECT_DATABASE_URL, else DATABASE_URL.`

const commands = ['add', 'update', 'list', 'show', 'check', 'disable', 'enable', 'remove'] as const
const flagsOfAdd = {
  domain: { type: 'string', multiple: true },
  name: { type: 'string' },
  list: { type: 'boolean' },
  provision: { type: 'boolean' },
  'allow-passwords': { type: 'boolean' },
} as const

async function run(): Promise<void> {
  const { kinds } = await import('../lib/sso/kinds')
  const providers = new Map<string, Provider>()
  for (const [name, kind] of Object.entries(kinds)) providers.set(name, await kind.provider())
  const additions = [...providers.values()].map(({ add }) => add)
  const usage = [...additions.map((addition) => addition.usage), usageOfAll].join('\n')
  const { values: flags, positionals } = readArguments(Object.assign({}, ...additions.map(({ flags }) => flags)), usage)
  if (flags.help) return console.log(usage)
  const [given, ...rest] = positionals
  const command = commands.find((name) => name === given)
  const count = { add: 2, list: 0 }[command as string] ?? 1
  const provider = providers.get(rest[0]!)
  if (!command || rest.length !== count || (command === 'add' && !provider)) throw new UsageError(usage)
  const accepted: Record<string, unknown> = command === 'add' ? { ...flagsOfAdd, ...provider!.add.flags } : {}
  if (command === 'update') accepted.metadata = true
  if (Object.keys(flags).some((flag) => !(flag in accepted))) throw new UsageError(usage)

  readEnvFiles(process.env.NODE_ENV === 'production')
  // the role that serves may not change connections
  if (process.env.DIRECT_DATABASE_URL) process.env.DATABASE_URL = process.env.DIRECT_DATABASE_URL
  if (!process.env.PORT) process.env.PUBLIC_URL ||= rememberedPublicUrl() ?? ''
  const port = Number(process.env.PORT || 3000)
  const release = await prepareLocally({ port, purpose: 'command', report: console.error })
  try {
    if (command === 'add') await add(provider!, rest[1]!, flags)
    else if (command === 'update') await update(await existing(rest[0]!), flags)
    else if (command === 'list') await list()
    else await act(command, await existing(rest[0]!))
  } finally {
    await release()
  }
}

type Flags = ReturnType<typeof readArguments>['values']

async function add(provider: Provider, slug: string, flags: Flags): Promise<void> {
  const { asciiDomain, slugPattern } = await import('../lib/sso/connection')
  const { addConnection, ConnectionConflict } = await import('../lib/sso/manage')
  if (!slugPattern.test(slug))
    throw new UsageError(`“${slug}” is not a slug: use at most 63 lower-case letters, digits and hyphens.`)
  const { domain: given = [] } = flags
  if (given.length === 0) throw new UsageError('Name at least one --domain.')
  const domains = given.map((name) => {
    const domain = asciiDomain(name.trim())
    if (!domain) throw new UsageError(`“${name}” is not a domain, like example.com.`)
    return domain
  })
  const { NewConnectionName } = await import('../lib/sso/settings-as-entered')
  const name = NewConnectionName.safeParse(flags.name ?? slug)
  if (!name.success) throw new UsageError(`--name ${name.error.issues[0]!.message}.`)
  const marked = await addConnection({
    slug,
    name: name.data,
    ...(await provider.add.settingsFrom(slug, flags, read)),
    domains: [...new Set(domains)],
    provision: flags.provision ?? false,
    listed: flags.list ?? false,
    allowPasswords: flags['allow-passwords'] ?? false,
  }).catch((error) => {
    throw error instanceof ConnectionConflict ? new UsageError(error.message) : error
  })
  console.log(`Added ${slug}.`)
  reportMarked(marked)
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

function reportMarked(count: number): void {
  if (count === 0) return
  console.log(`Users of its domains who can no longer use a password: ${count}.`)
  console.log('To exempt one, for emergencies: npm run users -- allow-password EMAIL')
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

async function act(
  command: Exclude<(typeof commands)[number], 'add' | 'update' | 'list'>,
  connection: ListedConnection,
): Promise<void> {
  const { slug, disabledAt } = connection
  if (command === 'show') return show(connection)
  if (command === 'check') return check(connection)
  const { disableConnection, enableConnection, removeConnection } = await import('../lib/sso/manage')
  if (command === 'enable') {
    const marked = await enableConnection(connection)
    console.log(`Users can sign in through ${slug}${disabledAt ? ' again' : '; it was not disabled'}.`)
    return reportMarked(marked)
  }
  const ended = command === 'disable' ? await disableConnection(connection) : await removeConnection(connection)
  console.log(`${command === 'disable' ? 'Disabled' : 'Removed'} ${slug}. Sessions ended: ${ended}.`)
  if (ended > 0)
    console.log(
      `Services that check only the signature accept their JWTs for up to ${inUnits(lifetimes.sessionToken, 'en')}.`,
    )
}

async function list(): Promise<void> {
  const { listConnections } = await import('../lib/sso/manage')
  for (const connection of await listConnections()) console.log(summaryOf(connection))
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

function readArguments(flagsOfKinds: Provider['add']['flags'], usage: string) {
  const options = { ...flagsOfKinds, ...flagsOfAdd, help: { type: 'boolean', short: 'h' } } as const
  try {
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}

run().then(
  () => exitWhenPrinted(0),
  (error: Error) => {
    console.error(error.message)
    exitWhenPrinted(error instanceof UsageError ? 2 : 1)
  },
)
