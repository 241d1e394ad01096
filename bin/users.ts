// `npm run users`: manages users by hand.
import { Option } from 'commander'
import { emailDomain } from '../lib/contract/email-address'
import { env, sendsMail } from '../lib/settings/env'
import type { ListedConnection } from '../lib/sso/manage/connections'
import { UsageError } from '../lib/usage-error'
import type { ListedUser, User, UserSession } from '../lib/user/user'
import {
  checkAddress,
  confirm,
  newProgram,
  readInput,
  recordOperator,
  reportEnded,
  runCommand,
  yesOption,
} from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'
import { printEvents } from './event-lines'

prepareCommand()
const { queueInvitation } = await import('../lib/mail/outbox')
const { sendDueMails } = await import('../lib/mail/sender')
const { parseDomain } = await import('../lib/sso/connection')
const { loadSetup } = await import('../lib/sso/kinds')
const { findDisabledConnection, findIssuers, linkUser, listConnections, unlinkUser } =
  await import('../lib/sso/manage/connections')
const { printLinkable } = await import('./connection-sign-ins')
const { listRejected } = await import('../lib/sso/rejected')
const { removeOwnSecondFactor } = await import('../lib/second-factor/change')
const { listEvents } = await import('../lib/event/list')
const { removeAllPasskeys } = await import('../lib/passkey/manage')
const users = await import('../lib/user/user')
const { createUser, findUserByEmail } = users

type Json = { json?: true }
type Language = { language: string }

const pageSize = 1_000
const longPasswords =
  'Users whose old password has more than 72 bytes must reset it: bcrypt ignored the other bytes, and this app rejects such a password.'

async function add(email: string, { ssoOnly }: { ssoOnly?: true }): Promise<void> {
  checkAddress(email, true)
  if (!(await createUser(email, { ssoOnly })))
    throw new UsageError(`There is already a user ${email}.`)

  const user = await requireUser(email)
  console.log(`Added ${user.email}.`)
}

async function allowPassword(
  email: string | undefined,
  given: { domain?: string; undo?: true },
): Promise<void> {
  if ((given.domain === undefined) === (email === undefined))
    throw new UsageError('Name an EMAIL or a --domain.')

  const whom = email
    ? { userId: (await requireUser(email)).id }
    : { domain: readDomain(given.domain!) }
  const changed = await users.allowPassword(whom, !given.undo)

  const who = given.undo
    ? 'Users who are no longer exempt from SSO'
    : 'Users who may now have a password'
  console.log(`${who}: ${changed}.`)
}

/** Returns a domain in ASCII. Throws UsageError for another text. */
function readDomain(text: string): string {
  const domain = parseDomain(text.trim())
  if (domain) return domain
  throw new UsageError(`“${text}” is not a domain, like example.com.`)
}

async function disable(email: string): Promise<void> {
  const user = await requireUser(email)
  const ended = await users.disableUser(user.id)
  reportEnded(`Disabled ${user.email}.`, ended)
}

async function enable(email: string): Promise<void> {
  const user = await requireUser(email)
  await users.enableUser(user.id)
  console.log(
    `${user.email} can sign in${user.disabledAt ? ' again' : '; it was not disabled'}.`,
  )
}

async function signOut(email: string): Promise<void> {
  const user = await requireUser(email)
  const ended = await users.signOutUser(user.id)
  reportEnded(`Signed out ${user.email}.`, ended)
}

async function rename(
  oldEmail: string,
  email: string,
  { language }: Language,
): Promise<void> {
  const user = await requireUser(oldEmail)
  checkAddress(email, true)
  const ended = await users.renameUser(user, email, language)
  if (ended === null) throw new UsageError(`Another user has ${email}.`)

  reportEnded(`Renamed ${user.email} to ${(await findUserByEmail(email))!.email}.`, ended)
  if (!sendsMail()) return console.log('No mail server is set up: tell the user.')

  console.log('A notice to both addresses is on its way.')
  await sendDueMails(30_000)
}

async function removeSecondFactor(email: string, { language }: Language): Promise<void> {
  const user = await requireUser(email)
  const ended = await removeOwnSecondFactor(user.id, language)
  if (ended === null) throw new UsageError(`${user.email} has no second factor.`)

  reportEnded(`Removed the second factor of ${user.email}.`, ended)
  console.log(
    'This is what an attacker who has the password would ask for: was it the user who asked?',
  )
  if (sendsMail()) await sendDueMails(30_000)
}

async function removePasskeys(email: string, { language }: Language): Promise<void> {
  const user = await requireUser(email)
  const ended = await removeAllPasskeys(user.id, language)
  if (ended === null) throw new UsageError(`${user.email} has no passkey.`)

  reportEnded(`Removed the passkeys of ${user.email}.`, ended)
  console.log(
    'This is what an attacker who has the password would ask for: was it the user who asked?',
  )
  if (sendsMail()) await sendDueMails(30_000)
}

async function remove(email: string, given: { yes?: true }): Promise<void> {
  const user = await requireUser(email)
  await confirm(await describeDeletion(user), given)
  const { sessions, identities } = await users.deleteUser(user.id)
  reportEnded(
    `Deleted ${user.email}. Links to identity providers: ${identities}.`,
    sessions,
  )

  console.log(
    `What remains: lines in logs and backups with the user ID ${user.id}, and what dashboards stored. The events about the user were deleted too.`,
  )
  console.log(
    'A connection that provisions adds the user again at the next sign-in: remove the person there first.',
  )
}

async function describeDeletion(user: User): Promise<string> {
  const details = await users.detailsOfUser(user.id)
  const live = details.sessions.filter(({ isLive }) => isLive)
  const parts = [
    `live sessions: ${live.length}`,
    `links to identity providers: ${details.identities.length}`,
    ...(details.hasPassword ? ['a password'] : []),
    ...(details.secondFactor ? ['a second factor'] : []),
  ]
  return `This deletes ${user.email} with ${parts.join(', ')}, and the events about the user. It can’t be undone.`
}

async function importFile(file: string): Promise<void> {
  const { importUsers, readUsers } = await import('../lib/user/import')

  const list = readUsers(await readInput(file))
  const count = list.users.length
  const unusable = await importUsers(list.users, (added) =>
    console.error(`Users added: ${added} of ${count} …`),
  )

  console.log(`Users imported: ${count}.`)
  if (list.ignoredColumns.length > 0)
    console.log(`Columns not imported: ${list.ignoredColumns.join(', ')}.`)
  if (list.users.some(({ passwordHash }) => passwordHash !== null))
    console.log(longPasswords)
  if (unusable.length > 0)
    console.log(
      ['Their domain requires SSO, so their password can’t be used:', ...unusable].join(
        '\n  ',
      ),
    )
}

/** Checks the value of --language. Commander calls it. */
function readLanguage(language: string): string {
  if (/^[a-z]{2,3}$/.test(language)) return language
  throw new UsageError(`“${language}” is not a language, such as en or de.`)
}

async function requireUser(email: string): Promise<User> {
  checkAddress(email, false)
  const user = await findUserByEmail(email)
  if (!user)
    throw new UsageError(
      `There is no user ${email}. Add it with npm run users -- add ${email}`,
    )

  return user
}

async function requireConnection(slug: string): Promise<ListedConnection> {
  const [connection] = await listConnections(slug)
  if (!connection)
    throw new UsageError(
      `There is no connection ${slug}. List them with npm run connections -- list`,
    )
  return connection
}

async function link(
  email: string,
  slug: string,
  subject: string | undefined,
  flags: { issuer?: string },
): Promise<void> {
  const user = await requireUser(email)
  const connection = await requireConnection(slug)
  if (subject === undefined) return printLinkable(connection, user.email)

  const issuer = flags.issuer ?? (await findIssuer(connection, subject))
  await linkUser(user.id, connection, { issuer, subject })
  console.log(`Linked ${user.email} to the subject ${subject} at ${connection.slug}.`)
}

/** Returns the issuer of a subject, which is known if the subject has tried to sign in. */
async function findIssuer(
  connection: ListedConnection,
  subject: string,
): Promise<string> {
  const rejected = (await listRejected(connection.id)).filter(
    (each) => each.subject === subject,
  )
  const [known, ...others] = new Set([
    ...(await findIssuers(connection.id, subject)),
    ...rejected.map(({ issuer }) => issuer),
  ])
  if (known && others.length === 0) return known

  const { readIssuer } = await loadSetup(connection)
  return readIssuer(connection)
}

async function unlink(email: string, connection: string): Promise<void> {
  const user = await requireUser(email)
  const { id, slug } = await requireConnection(connection)
  const unlinked = await unlinkUser(user.id, id)
  if (!unlinked) return console.log(`${user.email} was not linked to ${slug}.`)
  console.log(`Unlinked ${user.email} from ${slug}. Sessions ended: ${unlinked.ended}.`)
  console.log(
    `Its subject is rejected until: npm run users -- link ${user.email} ${slug} ${unlinked.subject}`,
  )
}

async function invite(email: string, { language }: Language): Promise<void> {
  checkAddress(email, true)
  if (!sendsMail()) throw new UsageError('SMTP_URL and MAIL_FROM are not set.')

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

type Filter = Json & { domain?: string; withoutSecondFactor?: true }

async function list({ json, domain, withoutSecondFactor }: Filter): Promise<void> {
  const ofDomain = domain === undefined ? null : readDomain(domain)
  let page: ListedUser[]
  let after = ''
  do {
    page = await users.listUsers(after, pageSize, ofDomain)
    for (const user of page) {
      if (withoutSecondFactor && user.hasSecondFactor) continue
      console.log(json ? JSON.stringify(user) : summarize(user))
    }
    after = page.at(-1)?.email ?? after
  } while (page.length === pageSize && process.stdout.writable)
}

function summarize(user: ListedUser): string {
  const { email, hasSecondFactor, connections, lastSignIn } = user
  const extras = [
    hasSecondFactor && 'second factor',
    connections.length > 0 && `linked to ${connections.join(', ')}`,
    lastSignIn &&
      `last sign-in ${lastSignIn.createdAt.toISOString()}, ${describeWay(lastSignIn)}`,
  ]
  return [email, ...describeState(user), ...extras.filter(Boolean)].join('  ')
}

async function show(email: string, { json }: Json): Promise<void> {
  const user = await requireUser(email)
  const { sessions, ...details } = await users.detailsOfUser(user.id)
  const [last] = sessions
  const live = sessions.filter(({ isLive }) => isLive)
  if (json)
    return console.log(
      JSON.stringify({ ...user, ...details, lastSignIn: last ?? null, sessions: live }),
    )

  const { disabledBy: by } = details
  console.log([user.email, user.id, ...describeState(user, by)].join('  '))
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

  for (const { name, synced, createdAt, lastUsedAt } of details.passkeys) {
    const used = lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : 'never used'
    const where = synced ? 'synced' : 'on one device'
    console.log(
      `Passkey ${name ?? 'without a name'}, ${where}, added ${createdAt.toISOString()}, ${used}`,
    )
  }

  for (const { connection, subject } of details.identities)
    console.log(`Linked to ${connection} as ${subject}`)

  const when = last
    ? `${last.createdAt.toISOString()}, ${describeWay(last)}`
    : 'none in the past two weeks'
  console.log(`Last sign-in: ${when}`)
  console.log(`Live sessions: ${live.length}`)
  for (const session of live) console.log(describeSession(session))
}

async function history(email: string, { json }: Json): Promise<void> {
  const user = await requireUser(email)
  await printEvents(listEvents({ userId: user.id }), json)
}

function describeSession(session: UserSession): string {
  const { id, createdAt, rotatedAt, expiresAt } = session
  const renewed = rotatedAt ? `, renewed ${rotatedAt.toISOString()}` : ''
  const times = `began ${createdAt.toISOString()}${renewed}, ends ${expiresAt.toISOString()}`
  return `  ${id}  ${times}, ${describeWay(session)}`
}

function describeWay({
  method,
  connection,
  device,
}: Pick<UserSession, 'method' | 'connection' | 'device'>): string {
  const ways = {
    password: 'password',
    passkey: 'passkey',
    sso: connection ?? 'a removed connection',
    code: 'a callback of another app',
    operator: 'an operator (npm run issue)',
  }
  return device ? `${ways[method]}, ${device}` : ways[method]
}

/** `disabledBy`: the connection whose directory has disabled the user. */
function describeState(
  { disabledAt, ssoOnly }: User,
  disabledBy: string | null = null,
): string[] {
  const by = disabledBy === null ? '' : ` by the directory of ${disabledBy}`
  return [
    ...(disabledAt ? [`disabled since ${disabledAt.toISOString()}${by}`] : []),
    ...(ssoOnly ? ['SSO only'] : []),
  ]
}

const language = new Option('--language <tag>', 'of the email, such as de')
  .default('en')
  .argParser(readLanguage)

const program = newProgram(
  'npm run users --',
  'Manages users. Uses DIRECT_DATABASE_URL, else DATABASE_URL.',
)
recordOperator(program)

program
  .command('add <email>')
  .description('adds a user without a password')
  .option('--sso-only', 'the user may only use SSO, in any domain')
  .action(withDatabaseAsOwner(add))

program
  .command('allow-password [email]')
  .description('lets a user have a password although SSO is required, for emergencies')
  .option('--domain <domain>', 'instead of one user, all users of a domain')
  .option('--undo', 'undoes either')
  .action(withDatabaseAsOwner(allowPassword))

program
  .command('delete <email>')
  .description(
    'deletes the user, with sessions, password, links to identity providers and events',
  )
  .option(...yesOption)
  .action(withDatabaseAsOwner(remove))

program
  .command('disable <email>')
  .description('ends all sessions of the user, and rejects new ones')
  .action(withDatabaseAsOwner(disable))

program
  .command('enable <email>')
  .description('lets a disabled user sign in again')
  .action(withDatabaseAsOwner(enable))

program
  .command('history <email>')
  .description('lists the events of the user: sign-ins and changes, the oldest first')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(history))

program
  .command('import <file.csv>')
  .description(
    'adds all users of a list or none. A list is CSV in UTF-8 with the columns email and password_hash (bcrypt). - for stdin',
  )
  .action(withDatabaseAsOwner(importFile))

program
  .command('invite <email>')
  .description(
    'emails an invitation: a link to choose a password, or to sign in where SSO is required. Adds the user if needed',
  )
  .addOption(language)
  .action(withDatabaseAsOwner(invite))

program
  .command('link <email> <connection> [subject]')
  .description(
    'links the user to a subject at an identity provider, with which the user can sign in. Without a subject, lists the rejected subjects with this email address, and links nothing',
  )
  .option(
    '--issuer <url>',
    'of the subject, if the connection has several tenants of Entra ID',
  )
  .action(withDatabaseAsOwner(link))

program
  .command('list')
  .description(
    'lists users, with their state, second factor, connections, and last sign-in of the past two weeks',
  )
  .option('--domain <domain>', 'only users with an email address of this domain')
  .option('--without-second-factor', 'only users who have none')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(list))

program
  .command('remove-passkeys <email>')
  .description('removes all passkeys of the user, ends all sessions, emails a notice')
  .addOption(language)
  .action(withDatabaseAsOwner(removePasskeys))

program
  .command('remove-second-factor <email>')
  .description(
    'lets the user sign in with the password alone, ends all sessions, emails a notice',
  )
  .addOption(language)
  .action(withDatabaseAsOwner(removeSecondFactor))

program
  .command('rename <old> <new>')
  .description(
    'gives the user another email address, ends all sessions, emails both addresses',
  )
  .addOption(language)
  .action(withDatabaseAsOwner(rename))

program
  .command('show <email>')
  .description('shows a user, the last sign-in and the live sessions')
  .option('--json', 'as an object')
  .action(withDatabaseAsOwner(show))

program
  .command('sign-out <email>')
  .description('ends all sessions of the user, who can sign in again')
  .action(withDatabaseAsOwner(signOut))

program
  .command('unlink <email> <connection>')
  .description(
    'rejects the subject of the user at an identity provider, until it is linked again: the next other subject with this email address is linked to this user',
  )
  .action(withDatabaseAsOwner(unlink))

runCommand(program)
