// `npm run users`: manages users by hand.
import { emailDomain } from '../lib/contract/email-address'
import { env, sendsMail } from '../lib/settings/env'
import type { OidcConnection } from '../lib/sso/connection'
import type { ListedConnection } from '../lib/sso/manage/connections'
import { UsageError } from '../lib/usage-error'
import type { User, UserSession } from '../lib/user/user'
import { checkAddress, readInput, reportEnded, runCommand } from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'

prepareCommand()
const { queueInvitation } = await import('../lib/mail/outbox')
const { sendDueMails } = await import('../lib/mail/sender')
const { asciiDomain, isSaml } = await import('../lib/sso/connection')
const { findDisabledConnection, issuersOf, linkUser, listConnections, unlinkUser } =
  await import('../lib/sso/manage/connections')
const { removeSecondFactorOf } = await import('../lib/second-factor/change')
const users = await import('../lib/user/user')
const { createUser, findUserByEmail } = users

const usage = `npm run users -- COMMAND
  add EMAIL                        adds a user without a password. --sso-only: the user may only use SSO, in any domain
  allow-password EMAIL             lets a user have a password although SSO is required, for emergencies
  allow-password --domain DOMAIN   the same for all users of a domain. --undo: undoes either
  delete EMAIL                     deletes the user, with sessions, password and links to identity providers
  disable EMAIL                    ends all sessions of the user, and rejects new ones
  enable EMAIL                     lets a disabled user sign in again
  import FILE.csv                  adds all users or none: lines of email,password_hash (bcrypt). - for stdin
  invite EMAIL                     emails an invitation: a link to choose a password, or to sign in where SSO is required.
                                   Adds the user if needed
  link EMAIL CONNECTION SUBJECT    links the user to a subject at an identity provider, with which the user can sign in
                                   --issuer: of the subject, if the connection has several tenants of Entra ID
  list                             lists all users, and marks who is disabled or may only use SSO. --json: one per line
  remove-second-factor EMAIL       lets the user sign in with the password alone, ends all sessions, emails a notice
  rename OLD NEW                   gives the user another email address, ends all sessions, emails both addresses
  show EMAIL                       shows a user, the last sign-in and the live sessions. --json: as an object
  sign-out EMAIL                   ends all sessions of the user, who can sign in again
  unlink EMAIL CONNECTION          rejects the subject of the user at an identity provider, until it is linked again:
                                   the next other subject with this email address is linked to this user
Commands that send an email accept its --language, such as de. Uses DIRECT_DATABASE_URL, else DATABASE_URL.`

type Flags = {
  'sso-only'?: true
  language?: string
  issuer?: string
  domain?: string
  undo?: true
  json?: true
}

const pageSize = 1_000

async function add(email: string, flags: Flags): Promise<void> {
  checkAddress(email, true)
  if (!(await createUser(email, { ssoOnly: flags['sso-only'] })))
    throw new UsageError(`There is already a user ${email}.`)
  console.log(`Added ${(await existing(email)).email}.`)
}

async function allowPassword(email: string | undefined, given: Flags): Promise<void> {
  if ((given.domain === undefined) === (email === undefined))
    throw new UsageError('Name an EMAIL or a --domain.')

  const domain = asciiDomain(given.domain?.trim() ?? '')
  if (domain === null && !email)
    throw new UsageError(`“${given.domain}” is not a domain, like example.com.`)

  const changed = await users.allowPassword(
    domain ? { domain } : { userId: (await existing(email!)).id },
    !given.undo,
  )

  const who = given.undo
    ? 'Users who are no longer exempt from SSO'
    : 'Users who may now have a password'
  console.log(`${who}: ${changed}.`)
}

async function enable(user: User): Promise<void> {
  await users.enableUser(user.id)
  console.log(
    `${user.email} can sign in${user.disabledAt ? ' again' : '; it was not disabled'}.`,
  )
}

async function rename(user: User, email: string, flags: Flags): Promise<void> {
  checkAddress(email, true)
  const ended = await users.renameUser(user, email, languageOf(flags))
  if (ended === null) throw new UsageError(`Another user has ${email}.`)

  reportEnded(`Renamed ${user.email} to ${(await findUserByEmail(email))!.email}.`, ended)
  if (!sendsMail()) return console.log('No mail server is set up: tell the user.')

  console.log('A notice to both addresses is on its way.')
  await sendDueMails(30_000)
}

async function removeSecondFactor(user: User, flags: Flags): Promise<void> {
  const ended = await removeSecondFactorOf(user.id, languageOf(flags))
  if (ended === null) throw new UsageError(`${user.email} has no second factor.`)

  reportEnded(`Removed the second factor of ${user.email}.`, ended)
  console.log(
    'This is what an attacker who has the password would ask for: was it the user who asked?',
  )
  if (sendsMail()) await sendDueMails(30_000)
}

async function remove(user: User): Promise<void> {
  const { sessions, identities } = await users.deleteUser(user.id)
  reportEnded(
    `Deleted ${user.email}. Links to identity providers: ${identities}.`,
    sessions,
  )

  console.log(
    `What remains: lines in logs and backups with the user ID ${user.id}, and what dashboards stored.`,
  )
  console.log(
    'A connection that provisions adds the user again at the next sign-in: remove the person there first.',
  )
}

async function importFile(file: string): Promise<void> {
  const { importUsers, readUsers } = await import('../lib/user/import')

  const imported = readUsers((await readInput(file)).toString())
  const unusable = await importUsers(imported)
  console.log(`Users imported: ${imported.length}.`)
  if (unusable.length > 0)
    console.log(
      ['Their domain requires SSO, so their password can’t be used:', ...unusable].join(
        '\n  ',
      ),
    )
}

function languageOf({ language = 'en' }: Flags): string {
  if (/^[a-z]{2,3}$/.test(language)) return language
  throw new UsageError(`“${language}” is not a language, such as en or de.`)
}

async function existing(email: string): Promise<User> {
  checkAddress(email, false)
  const user = await findUserByEmail(email)
  if (!user)
    throw new UsageError(
      `There is no user ${email}. Add it with npm run users -- add ${email}`,
    )

  return user
}

async function existingConnection(slug: string): Promise<ListedConnection> {
  const [connection] = await listConnections(slug)
  if (!connection)
    throw new UsageError(
      `There is no connection ${slug}. List them with npm run connections -- list`,
    )
  return connection
}

async function link(
  user: User,
  connection: ListedConnection,
  subject: string,
  flags: Flags,
): Promise<void> {
  const [known, ...others] = await issuersOf(connection.id, subject)
  const issuer =
    flags.issuer ?? (known && others.length === 0 ? known : await issuerOf(connection))
  await linkUser(user.id, connection, { issuer, subject })
  console.log(`Linked ${user.email} to the subject ${subject} at ${connection.slug}.`)
}

/** Returns the issuer in the ID tokens or assertions of a connection. */
async function issuerOf(connection: ListedConnection): Promise<string> {
  if (isSaml(connection)) return connection.settings.issuer

  const { discover } = await import('../lib/sso/oidc/discovery')
  const { slug } = connection

  const { metadata } = await discover(connection as OidcConnection).catch((cause) => {
    throw new Error(
      `The metadata of ${slug} can’t be used: npm run connections -- check ${slug}`,
      { cause },
    )
  })

  if (metadata.issuer.includes('{tenantid}'))
    throw new UsageError(
      `${slug} has several tenants: pass the --issuer of the subject, ${metadata.issuer}`,
    )

  return metadata.issuer
}

async function unlink(user: User, { id, slug }: ListedConnection): Promise<void> {
  const unlinked = await unlinkUser(user.id, id)
  if (!unlinked) return console.log(`${user.email} was not linked to ${slug}.`)
  console.log(`Unlinked ${user.email} from ${slug}. Sessions ended: ${unlinked.ended}.`)
  console.log(
    `Its subject is rejected until: npm run users -- link ${user.email} ${slug} ${unlinked.subject}`,
  )
}

async function invite(email: string, flags: Flags): Promise<void> {
  checkAddress(email, true)
  if (!sendsMail()) throw new UsageError('SMTP_URL and MAIL_FROM are not set.')

  const language = languageOf(flags)
  await checkInvited(email)

  const added = await createUser(email)
  const user = (await findUserByEmail(email))!
  const queued = await queueInvitation(user.id, language)
  if (!queued)
    throw new UsageError(`${user.email} got too many emails recently. Try again later.`)

  console.log(
    `${added ? 'Added' : 'Invited'} ${user.email}. An email with a link follows.`,
  )
  await sendDueMails(30_000)
}

/** Throws unless a user, or a new user, with this address can be invited. */
async function checkInvited(email: string): Promise<void> {
  const user = await findUserByEmail(email)
  if (user?.disabledAt)
    throw new UsageError(
      `${user.email} is disabled: npm run users -- enable ${user.email}`,
    )

  const mustUseSso = !user || user.ssoOnly
  const slug = mustUseSso ? await findDisabledConnection(emailDomain(email)) : null
  if (slug)
    throw new UsageError(
      `${email} can only sign in through ${slug}, which is disabled: npm run connections -- enable ${slug}`,
    )

  if (user && !user.ssoOnly && (await users.detailsOfUser(user.id)).hasPassword)
    throw new UsageError(
      `${user.email} already has a password. To choose another: ${forgotPasswordUrl()}`,
    )
}

function forgotPasswordUrl(): string {
  const { FORGOT_PASSWORD_URL = '/forgot-password', PUBLIC_URL } = env()
  return new URL(FORGOT_PASSWORD_URL, PUBLIC_URL).href
}

async function list({ json }: Flags): Promise<void> {
  let page: User[]
  let after = ''
  do {
    page = await users.listUsers(after, pageSize)
    for (const user of page)
      console.log(json ? JSON.stringify(user) : [user.email, ...stateOf(user)].join('  '))
    after = page.at(-1)?.email ?? after
  } while (page.length === pageSize && process.stdout.writable)
}

async function show(user: User, { json }: Flags): Promise<void> {
  const { sessions, ...details } = await users.detailsOfUser(user.id)
  const [last] = sessions
  const live = sessions.filter(({ isLive }) => isLive)
  if (json)
    return console.log(
      JSON.stringify({ ...user, ...details, lastSignIn: last ?? null, sessions: live }),
    )

  console.log([user.email, user.id, ...stateOf(user)].join('  '))
  console.log(
    `Created ${details.createdAt.toISOString()}, has ${details.hasPassword ? 'a' : 'no'} password`,
  )

  if (details.secondFactor) {
    const { enabledAt, recoveryCodesLeft: left, failures } = details.secondFactor
    const since = enabledAt.toISOString()
    console.log(
      `Second factor since ${since}, recovery codes left: ${left}, wrong codes: ${failures}`,
    )
  }

  for (const { connection, subject } of details.identities)
    console.log(`Linked to ${connection} as ${subject}`)
  const when = last
    ? `${last.createdAt.toISOString()}, ${wayOf(last)}`
    : 'none in the past two weeks'
  console.log(`Last sign-in: ${when}`)
  console.log(`Live sessions: ${live.length}`)

  for (const { id, createdAt, rotatedAt, expiresAt, ...way } of live) {
    const renewed = rotatedAt ? `, renewed ${rotatedAt.toISOString()}` : ''
    console.log(
      `  ${id}  began ${createdAt.toISOString()}${renewed}, ends ${expiresAt.toISOString()}, ${wayOf(way)}`,
    )
  }
}

function wayOf({
  method,
  connection,
  device,
}: Pick<UserSession, 'method' | 'connection' | 'device'>): string {
  const ways = {
    password: 'password',
    sso: connection ?? 'a removed connection',
    code: 'a callback of another app',
  }
  return device ? `${ways[method]}, ${device}` : ways[method]
}

function stateOf({ disabledAt, ssoOnly }: User): string[] {
  return [
    ...(disabledAt ? [`disabled since ${disabledAt.toISOString()}`] : []),
    ...(ssoOnly ? ['SSO only'] : []),
  ]
}

runCommand({
  usage,
  within: withDatabaseAsOwner,
  find: { USER: existing, CONNECTION: existingConnection },
  commands: {
    'add EMAIL --sso-only': add,
    'allow-password [EMAIL] --domain=DOMAIN --undo': allowPassword,
    'delete USER': remove,
    'disable USER': async ({ id, email }: User) =>
      reportEnded(`Disabled ${email}.`, await users.disableUser(id)),
    'enable USER': enable,
    'import FILE': importFile,
    'invite EMAIL --language=TAG': invite,
    'link USER CONNECTION SUBJECT --issuer=URL': link,
    'list --json': list,
    'remove-second-factor USER --language=TAG': removeSecondFactor,
    'rename USER NEW --language=TAG': rename,
    'show USER --json': show,
    'sign-out USER': async ({ id, email }: User) =>
      reportEnded(`Signed out ${email}.`, await users.signOutUser(id)),
    'unlink USER CONNECTION': unlink,
  },
})
