// `npm run connections -- add oidc|add saml|list|show|check|update|disable|enable|remove`: manages the
// identity providers that users sign in with.
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import type { OidcConnection } from '../lib/sso/connection'
import type { ListedConnection, NewConnection } from '../lib/sso/manage'
import { UsageError } from '../lib/sso/usage-error'
import { exitWhenPrinted } from './exit'
import { prepareLocally, readEnvFiles, rememberedPublicUrl } from './local'

const usage = `npm run connections -- add oidc SLUG --issuer URL --client-id ID --domain DOMAIN [--domain …] < SECRET
    adds an OpenID provider. Reads the client secret from stdin, and prints what to enter at the provider.
    --tenant ID         a tenant of Entra ID that may sign in; required unless the issuer has a tenant ID
npm run connections -- add saml SLUG --metadata FILE --domain DOMAIN [--domain …]
    adds a SAML provider from its metadata (- for stdin), and prints what to enter at the provider.
    --want-signed WHAT  response, assertion or both; by default, one of them suffices
    --sign-requests     signs requests, as metadata may also demand
    --email-attribute NAME   the attribute with the e-mail address, if it is none of the usual ones
  Both:
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
const flagsOfBoth = ['domain', 'name', 'list', 'provision', 'allow-passwords'] as const
const flagsOfKind = {
  oidc: ['issuer', 'client-id', 'tenant', ...flagsOfBoth],
  saml: ['metadata', 'want-signed', 'sign-requests', 'email-attribute', ...flagsOfBoth],
} as const
type Kind = keyof typeof flagsOfKind

async function run(): Promise<void> {
  const { values: flags, positionals } = readArguments()
  if (flags.help) return console.log(usage)
  const [given, ...rest] = positionals
  const command = commands.find((name) => name === given)
  const count = { add: 2, list: 0 }[command as string] ?? 1
  const kind = rest[0] === 'oidc' || rest[0] === 'saml' ? rest[0] : null
  if (!command || rest.length !== count || (command === 'add' && !kind)) throw new UsageError(usage)
  const accepted: readonly string[] = command === 'add' ? flagsOfKind[kind!] : command === 'update' ? ['metadata'] : []
  if (Object.keys(flags).some((flag) => !accepted.includes(flag))) throw new UsageError(usage)

  readEnvFiles(process.env.NODE_ENV === 'production')
  // the role that serves may not change connections
  if (process.env.DIRECT_DATABASE_URL) process.env.DATABASE_URL = process.env.DIRECT_DATABASE_URL
  if (!process.env.PORT) process.env.PUBLIC_URL ||= rememberedPublicUrl() ?? ''
  const port = Number(process.env.PORT || 3000)
  const release = await prepareLocally({ port, purpose: 'command', report: console.error })
  try {
    if (command === 'add') await add(kind!, rest[1]!, flags)
    else if (command === 'update') await update(await existing(rest[0]!), flags)
    else if (command === 'list') await list()
    else await act(command, await existing(rest[0]!))
  } finally {
    await release()
  }
}

type Flags = ReturnType<typeof readArguments>['values']

async function add(kind: Kind, slug: string, flags: Flags): Promise<void> {
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
  const { NewConnectionName } = await import('../lib/sso/settings')
  const name = NewConnectionName.safeParse(flags.name ?? slug)
  if (!name.success) throw new UsageError(`--name ${name.error.issues[0]!.message}.`)
  const { newSamlSettings } = await import('../lib/sso/saml/operator')
  const ofKind = await (kind === 'oidc' ? newOidcSettings(flags) : newSamlSettings(slug, flags))
  const marked = await addConnection({
    slug,
    name: name.data,
    ...ofKind,
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

async function newOidcSettings(flags: Flags): Promise<Pick<NewConnection, 'settings' | 'secrets'>> {
  const { NewConnectionSettings } = await import('../lib/sso/settings')
  const { issuer, 'client-id': clientId, tenant: tenants } = flags
  if (!issuer || !clientId) throw new UsageError('--issuer and --client-id are required.')
  const settings = NewConnectionSettings.safeParse({ kind: 'oidc', issuer, clientId, ...(tenants && { tenants }) })
  if (!settings.success) {
    const problems = settings.error.issues.map(({ path, message }) => `--${flagOf(String(path[0]))} ${message}`)
    throw new UsageError(problems.join('\n'))
  }
  return { settings: settings.data, secrets: { clientSecret: await secretFromStdin() } }
}

function flagOf(setting: string): string {
  return { clientId: 'client-id', tenants: 'tenant' }[setting] ?? setting
}

async function secretFromStdin(): Promise<string> {
  if (process.stdin.isTTY) console.error('Paste the client secret, press Enter, then Ctrl-D:')
  const secret = (await text(process.stdin)).trim()
  if (!secret || /\s/.test(secret)) throw new UsageError('Pass the client secret on stdin, alone.')
  return secret
}

/** Prints what an operator has to enter at the provider. */
async function printEntries(connection: ListedConnection): Promise<void> {
  const { isSaml, redirectUri } = await import('../lib/sso/connection')
  const { env } = await import('../lib/settings/env')
  const { printSamlEntries } = await import('../lib/sso/saml/operator')
  const { slug } = connection
  if (isSaml(connection)) return printSamlEntries(connection)
  console.log(`
At the identity provider, enter:
  application type             Web application (confidential), authorization code flow
  redirect URI                 ${redirectUri(slug)}
  initiate login URI           ${env().PUBLIC_URL}/api/auth/sso/${slug}/start
  scopes                       openid, email, profile
  PKCE                         S256, if it asks`)
}

function reportMarked(count: number): void {
  if (count === 0) return
  console.log(`Users of its domains who can no longer use a password: ${count}.`)
  console.log('To exempt one, for emergencies: npm run users -- allow-password EMAIL')
}

async function update(connection: ListedConnection, { metadata }: Flags): Promise<void> {
  const { isSaml } = await import('../lib/sso/connection')
  const { updateSaml } = await import('../lib/sso/saml/operator')
  if (!isSaml(connection))
    throw new UsageError(`${connection.slug} has no metadata to update: it speaks OpenID Connect.`)
  await updateSaml(connection, metadata)
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
  const { isOidc, isSaml } = await import('../lib/sso/connection')
  const { showSaml } = await import('../lib/sso/saml/operator')
  console.log(summaryOf(connection))
  if (isOidc(connection)) console.log(`client ID: ${connection.settings.clientId}`)
  if (isSaml(connection)) showSaml(connection)
  await printEntries(connection)
}

const advice: Record<string, string> = {
  secrets:
    'The client secret can’t be opened: CONNECTION_SECRETS_KEY has changed. Remove the connection, and add it again.',
  discovery_issuer: 'The metadata names another issuer. Compare --issuer with “issuer” there, to the last slash.',
  discovery_metadata: 'The metadata lacks an authorization endpoint, a token endpoint, or the keys.',
  discovery_response: 'There is no metadata below the issuer, at /.well-known/openid-configuration.',
  provider_timeout: 'The provider did not respond within 5 seconds.',
  provider_unreachable:
    'The provider can’t be reached from here: check the URL, DNS, the firewall and the certificate.',
  provider_response_size: 'The metadata has more than 32 KiB.',
  provider_response_encoding: 'The provider compresses its responses, although the request accepts none that are.',
  provider_http: 'The metadata has URLs with http.',
}

async function check(connection: ListedConnection): Promise<void> {
  const { isOidc, isSaml } = await import('../lib/sso/connection')
  const { checkSaml } = await import('../lib/sso/saml/operator')
  if (isSaml(connection)) await checkSaml(connection)
  if (isOidc(connection)) await checkOidc(connection)
}

async function checkOidc(connection: ListedConnection & OidcConnection): Promise<void> {
  const { discover } = await import('../lib/sso/oidc/sign-in')
  const { SignInRejected } = await import('../lib/sso/rejection')
  try {
    const { metadata } = await discover(connection)
    console.log(`${connection.slug}: the provider responds, and names itself ${metadata.issuer}.`)
    for (const problem of problemsOf(connection, metadata)) console.log(`  ${problem}`)
  } catch (error) {
    if (!(error instanceof SignInRejected)) throw error
    throw new Error(`${connection.slug}: ${error.check}. ${advice[error.check] ?? 'The metadata can’t be used.'}`)
  }
}

type Metadata = { code_challenge_methods_supported?: string[]; scopes_supported?: string[] }

function problemsOf({ disabledAt }: ListedConnection, metadata: Metadata): string[] {
  const { code_challenge_methods_supported: challenges, scopes_supported: scopes } = metadata
  return [
    ...(challenges && !challenges.includes('S256') ? ['It does not announce PKCE with S256.'] : []),
    ...(scopes && !scopes.includes('email') ? ['It does not announce the scope email: nobody can be linked.'] : []),
    ...(disabledAt ? ['The connection is disabled.'] : []),
  ]
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        issuer: { type: 'string' },
        'client-id': { type: 'string' },
        domain: { type: 'string', multiple: true },
        tenant: { type: 'string', multiple: true },
        metadata: { type: 'string' },
        'want-signed': { type: 'string' },
        'sign-requests': { type: 'boolean' },
        'email-attribute': { type: 'string' },
        name: { type: 'string' },
        list: { type: 'boolean' },
        provision: { type: 'boolean' },
        'allow-passwords': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
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
