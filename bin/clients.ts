// `npm run clients`: manages the OpenID clients, at which users sign in with this service
// (docs/clients.md).
import type { ListedClient } from '../lib/client/manage'
import { lifetimes } from '../lib/contract/lifetimes'
import { UsageError } from '../lib/usage-error'
import {
  collect,
  confirm,
  newProgram,
  printIssuedSecret,
  readSeconds,
  recordOperator,
  runCommand,
  yesOption,
} from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'

prepareCommand()
const { slugPattern } = await import('../lib/sso/connection')
const { discoveryPath } = await import('../lib/client/discovery')
const { findNearest, isRegistered } = await import('../lib/client/redirect-uri')
const clients = await import('../lib/client/manage')
const { env } = await import('../lib/settings/env')

const minTokenMinutes = 5
const maxTokenMinutes = lifetimes.sessionToken / 60

async function requireClient(slug: string): Promise<ListedClient> {
  const [client] = await clients.listClients(slug)
  if (!client)
    throw new UsageError(
      `There is no client ${slug}. List them with npm run clients -- list`,
    )
  return client
}

type AddOptions = {
  redirect: string[]
  postLogout?: string[]
  backchannelLogout?: string
  public?: boolean
  tokenMinutes?: string
}

async function add(slug: string, options: AddOptions): Promise<void> {
  if (!slugPattern.test(slug))
    throw new UsageError(
      `“${slug}” is not a slug: use at most 63 lower-case letters, digits and hyphens.`,
    )

  const { redirect, postLogout = [], public: isPublic = false, tokenMinutes } = options
  const secret = await clients.addClient({
    slug,
    isPublic,
    redirectUris: redirect,
    postLogoutRedirectUris: postLogout,
    backchannelLogoutUri: options.backchannelLogout ?? null,
    tokenMinutes: readTokenMinutes(tokenMinutes) ?? null,
  })

  console.error(`Added ${slug}. Enter in the product:`)
  printValues(await requireClient(slug))
  printDemands(isPublic)
  if (secret) console.log(secret)
}

/** Returns undefined if the option is not given. */
function readTokenMinutes(text: string | undefined): number | undefined {
  if (text === undefined) return undefined

  const minutes = Number(text)
  if (!/^\d{1,3}$/.test(text) || minutes < minTokenMinutes || minutes > maxTokenMinutes)
    throw new UsageError(
      `--token-minutes must be a whole number from ${minTokenMinutes} to ${maxTokenMinutes}.`,
    )

  return minutes
}

/** Prints to stderr what the operator enters in the product. */
function printValues(client: ListedClient): void {
  const { slug, redirectUris, postLogoutRedirectUris, backchannelLogoutUri } = client
  const issuer = env().PUBLIC_URL
  const values = [
    ['issuer', issuer],
    ['discovery document', issuer + discoveryPath],
    ['client ID', slug],
    ...redirectUris.map((uri) => ['redirect URI', uri]),
    ...postLogoutRedirectUris.map((uri) => ['after a sign-out', uri]),
    ...[backchannelLogoutUri ?? []].flat().map((uri) => ['back-channel logout', uri]),
  ] as [string, string][]

  for (const [label, value] of values) console.error(`  ${label.padEnd(20)} ${value}`)
}

/** Prints to stderr what the product must send, and, last, what stdout has. */
function printDemands(isPublic: boolean): void {
  console.error(
    'It must send response_type=code, the scope openid, and one of the redirect URIs, exactly as above.',
  )
  console.error(
    isPublic
      ? 'It must use PKCE with S256. It is a public client, which has no secret.'
      : `It must use PKCE with S256, or send a nonce if it does not support PKCE.
It sends its secret as client_secret_basic or client_secret_post. This is the secret, which is not shown again:`,
  )
}

async function list({ json }: { json?: boolean }): Promise<void> {
  for (const client of await clients.listClients()) {
    const text = [
      client.slug,
      ...describeState(client),
      client.redirectUris.join(', '),
    ].join('  ')
    console.log(json ? JSON.stringify(client) : text)
  }
}

async function show(slug: string): Promise<void> {
  const client = await requireClient(slug)
  console.log([client.slug, client.id, ...describeState(client)].join('  '))
  for (const uri of client.redirectUris) console.log(`Redirect URI: ${uri}`)
  for (const uri of client.postLogoutRedirectUris) console.log(`After a sign-out: ${uri}`)

  if (client.backchannelLogoutUri)
    console.log(`Back-channel logout: ${client.backchannelLogoutUri}`)

  console.log(`Tokens: valid for ${client.tokenMinutes ?? maxTokenMinutes} minutes`)
  for (const secret of client.secrets) printIssuedSecret('Secret', secret)
}

function describeState({ isPublic, disabledAt }: ListedClient): string[] {
  const kind = isPublic ? 'public' : 'confidential'
  return disabledAt ? [kind, `disabled since ${disabledAt.toISOString()}`] : [kind]
}

type UpdateOptions = {
  addRedirect?: string[]
  removeRedirect?: string[]
  addPostLogout?: string[]
  removePostLogout?: string[]
  /** False for `--no-backchannel-logout`. */
  backchannelLogout?: string | false
  tokenMinutes?: string
}

async function update(slug: string, options: UpdateOptions): Promise<void> {
  if (Object.keys(options).length === 0)
    throw new UsageError('Name what to change: npm run clients -- update --help')

  const client = await requireClient(slug)
  const tokenMinutes = readTokenMinutes(options.tokenMinutes)
  const { backchannelLogout } = options
  await clients.updateClient(client, {
    addedRedirectUris: options.addRedirect ?? [],
    removedRedirectUris: options.removeRedirect ?? [],
    addedPostLogoutRedirectUris: options.addPostLogout ?? [],
    removedPostLogoutRedirectUris: options.removePostLogout ?? [],
    ...(backchannelLogout !== undefined && {
      backchannelLogoutUri: backchannelLogout || null,
    }),
    ...(tokenMinutes !== undefined && { tokenMinutes }),
  })
  console.log(`Updated ${slug}.`)
}

async function rotate(slug: string, { keep = '0m' }: { keep?: string }): Promise<void> {
  const client = await requireClient(slug)
  const seconds = readSeconds('--keep', keep)
  const secret = await clients.rotateSecret(client, seconds)
  const old =
    seconds > 0
      ? `works for ${keep}: replace it in the product by then`
      : 'works no longer'
  console.error(
    `This is the new secret of ${slug}, which is not shown again. The old one ${old}.`,
  )
  console.log(secret)
}

async function revoke(slug: string, hint: string): Promise<void> {
  const client = await requireClient(slug)
  const count = await clients.revokeSecrets(client, hint)
  if (count === 0)
    throw new UsageError(
      `${slug} has no live secret …${hint}. See npm run clients -- show ${slug}`,
    )

  console.log(`Revoked ${count === 1 ? 'the secret' : `${count} secrets`} …${hint}.`)
}

async function disable(slug: string): Promise<void> {
  await clients.setDisabled(await requireClient(slug), true)
  console.log(`Disabled ${slug}.`)
}

async function enable(slug: string): Promise<void> {
  await clients.setDisabled(await requireClient(slug), false)
  console.log(`Enabled ${slug}.`)
}

async function remove(slug: string, given: { yes?: true }): Promise<void> {
  const client = await requireClient(slug)
  const secrets = await clients.countLiveSecrets(client)
  await confirm(
    `This removes ${slug}: users can no longer sign in at ${client.redirectUris.join(', ')}. Live secrets: ${secrets}. It can’t be undone.`,
    given,
  )

  await clients.removeClient(client)
  console.log(`Removed ${slug}.`)
}

async function check(slug: string, uri: string): Promise<void> {
  const client = await requireClient(slug)
  console.log(await checkRedirectUri(client, uri))
}

/** Returns how a sign-in with this redirect URI would end, and what to do about it. */
async function checkRedirectUri(client: ListedClient, uri: string): Promise<string> {
  const { slug, disabledAt, isPublic, redirectUris } = client
  if (disabledAt)
    return `client_disabled: ${slug} is disabled. npm run clients -- enable ${slug}`

  if (!isRegistered(client, uri))
    return [
      `redirect_uri_unknown: ${uri} is not registered.${describeNearest(uri, redirectUris)}`,
      `npm run clients -- update ${slug} --add-redirect ${uri}`,
    ].join(' ')

  if (!isPublic && (await clients.countLiveSecrets(client)) === 0)
    return `invalid_client: ${slug} has no live secret. npm run clients -- rotate ${slug}`

  return `${uri} may be used by ${slug}.`
}

function describeNearest(uri: string, redirectUris: string[]): string {
  const nearest = findNearest(uri, redirectUris)
  if (!nearest) return ''

  const differences = new Intl.ListFormat('en').format(nearest.differences)
  return ` It differs from ${nearest.uri} in ${differences}.`
}

const program = newProgram(
  'npm run clients --',
  'Manages the OpenID clients: dashboards and other products at which users sign in with this service. The slug is the client ID: lower-case letters, digits and hyphens. Uses DIRECT_DATABASE_URL, else DATABASE_URL.',
)
recordOperator(program)
const tokenMinutes = [
  '--token-minutes <number>',
  `its tokens are valid for ${minTokenMinutes} to ${maxTokenMinutes} minutes, by default ${maxTokenMinutes}`,
] as const

const backchannelLogout = [
  '--backchannel-logout <url>',
  'its server is told here that a session has ended',
] as const

program
  .command('add <slug>')
  .description('adds a client, and prints its secret only once')
  .requiredOption(
    '--redirect <url>',
    'where users return after a sign-in; repeat it for several',
    collect,
  )
  .option('--public', 'has no secret, because it is a page or an app that can’t keep one')
  .option(
    '--post-logout <url>',
    'where users may return after a sign-out; repeat it for several',
    collect,
  )
  .option(...backchannelLogout)
  .option(...tokenMinutes)
  .action(withDatabaseAsOwner(add))

program
  .command('list')
  .description('lists all clients')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(list))

program
  .command('show <slug>')
  .description('shows a client, its URIs, and the last four characters of its secrets')
  .action(withDatabaseAsOwner(show))

program
  .command('update <slug>')
  .description('changes a client. Each option for a URL can be repeated')
  .option('--add-redirect <url>', 'users may return here after a sign-in', collect)
  .option('--remove-redirect <url>', 'users may no longer return here', collect)
  .option('--add-post-logout <url>', 'users may return here after a sign-out', collect)
  .option('--remove-post-logout <url>', 'users may no longer return here', collect)
  .option(...backchannelLogout)
  .option('--no-backchannel-logout', 'its server is no longer told')
  .option(...tokenMinutes)
  .action(withDatabaseAsOwner(update))

program
  .command('rotate <slug>')
  .description('prints a new secret. The old one stops working')
  .option('--keep <time>', 'the old one works for 30m, 12h or 7d, for example')
  .action(withDatabaseAsOwner(rotate))

program
  .command('revoke <slug> <hint>')
  .description('revokes the secret that ends with these four characters')
  .action(withDatabaseAsOwner(revoke))

program
  .command('disable <slug>')
  .description('rejects the requests of the client')
  .action(withDatabaseAsOwner(disable))

program
  .command('enable <slug>')
  .description('accepts the requests of a disabled client again')
  .action(withDatabaseAsOwner(enable))

program
  .command('remove <slug>')
  .description('deletes a client with its secrets')
  .option(...yesOption)
  .action(withDatabaseAsOwner(remove))

program
  .command('check <slug> <url>')
  .description('shows whether a sign-in may return to this URL, and why not')
  .action(withDatabaseAsOwner(check))

runCommand(program)
