// `npm run users -- add|allow-password|delete|disable|enable|import|invite|link|list|rename|show|sign-out|unlink`:
// manages users by hand.
import { readFileSync } from 'node:fs'
import { parseEmailAddress } from '../lib/contract/email-address'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import type { ListedConnection } from '../lib/sso/manage'
import { UsageError } from '../lib/usage-error'
import type { User, UserSession } from '../lib/user'
import { runCommand } from './command-line'
import { withDatabaseAsOwner } from './local'

const usage = `npm run users -- add EMAIL        adds a user without a password. --sso-only: who may only use SSO, whatever the domain
npm run users -- allow-password EMAIL
npm run users -- allow-password --domain DOMAIN
                                  lets a user, or all of a domain, have a password although SSO is required: for
                                  emergencies. --undo: takes that back
npm run users -- delete EMAIL     deletes the user, with sessions, password and links to identity providers
npm run users -- disable EMAIL    ends all sessions of the user, and lets no new one begin
npm run users -- enable EMAIL     lets a disabled user sign in again
npm run users -- import FILE.csv  adds the users of a file, or none: lines of email,password_hash (bcrypt), - for stdin
npm run users -- invite EMAIL     mails the user a link to choose a password. Adds the user if needed
                                  --language: of the mail, such as de
npm run users -- link EMAIL CONNECTION SUBJECT
                                  links the user to a subject at an identity provider, which can sign in from then on
                                  --issuer: of the subject, if the connection has several tenants of Entra ID
npm run users -- list             lists all users, and who is disabled or may only use SSO. --json: one object a line
npm run users -- rename OLD NEW   gives the user another email address, ends all sessions, and mails both addresses
                                  --language: of the mails, such as de
npm run users -- show EMAIL       shows a user, the last sign-in and the live sessions. --json: as an object
npm run users -- sign-out EMAIL   ends all sessions of the user, who can sign in again
npm run users -- unlink EMAIL CONNECTION
                                  rejects the subject of the user at an identity provider, until it is linked again:
                                  the next other subject with this email address is this user

Uses DIRECT_DATABASE_URL, else DATABASE_URL.`

const pageSize = 1_000
/** Runs `work` with the database, if an address is one. An imported one can be of a form that is not added. */
function withAddress(email: string, work: () => Promise<void>, isAddress: (text: string) => unknown = isLikeAddress) {
  checkAddress(email, isAddress)
  return withDatabaseAsOwner(work)
}

function checkAddress(email: string, isAddress: (text: string) => unknown): void {
  if (!isAddress(email)) throw new UsageError('That is not an e-mail address, like ada@example.com.')
}

const isLikeAddress = (text: string) => /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(text)

async function add(email: string, ssoOnly = false): Promise<void> {
  const { createUser } = await import('../lib/user')
  if (!(await createUser(email, { ssoOnly }))) throw new UsageError(`There is already a user ${email}.`)
  console.log(`Added ${(await existing(email)).email}.`)
}

async function allowPassword(given: { domain?: string; undo?: boolean }, email?: string): Promise<void> {
  if ((given.domain === undefined) === (email === undefined)) throw new UsageError('Name an EMAIL or a --domain.')
  const { asciiDomain } = await import('../lib/sso/connection')
  const { allowPassword } = await import('../lib/user')
  const domain = given.domain === undefined ? null : asciiDomain(given.domain.trim())
  if (domain === null && !email) throw new UsageError(`“${given.domain}” is not a domain, like example.com.`)
  const changed = await allowPassword(domain ? { domain } : { userId: (await existing(email!)).id }, !given.undo)
  console.log(
    `${given.undo ? 'Users who are no longer exempt from SSO' : 'Users who may now have a password'}: ${changed}.`,
  )
}

async function enable(user: User): Promise<void> {
  const { enableUser } = await import('../lib/user')
  await enableUser(user.id)
  console.log(`${user.email} can sign in${user.disabledAt ? ' again' : '; it was not disabled'}.`)
}

async function disable(user: User): Promise<void> {
  const { disableUser } = await import('../lib/user')
  reportEnded(`Disabled ${user.email}.`, await disableUser(user.id))
}

async function signOut(user: User): Promise<void> {
  const { signOutUser } = await import('../lib/user')
  reportEnded(`Signed out ${user.email}.`, await signOutUser(user.id))
}

function reportEnded(done: string, ended: number): void {
  console.log(`${done} Sessions ended: ${ended}.`)
  if (ended > 0)
    console.log(
      `Services that check only the signature accept their JWTs for up to ${inUnits(lifetimes.sessionToken, 'en')}.`,
    )
}

async function rename(user: User, email: string, language = 'en'): Promise<void> {
  const { findUserByEmail, renameUser } = await import('../lib/user')
  const { sendDueMails } = await import('../lib/mail/sender')
  const { sendsMail } = await import('../lib/settings/env')
  checkLanguage(language)
  const ended = await renameUser(user, email, language)
  if (ended === null) throw new UsageError(`Another user has ${email}.`)
  reportEnded(`Renamed ${user.email} to ${(await findUserByEmail(email))!.email}.`, ended)
  if (!sendsMail()) return console.log('No mail server is set up: tell the user.')
  console.log('A notice to both addresses is on its way.')
  await sendDueMails(30_000)
}

async function remove(user: User): Promise<void> {
  const { deleteUser } = await import('../lib/user')
  const { sessions, identities } = await deleteUser(user.id)
  reportEnded(`Deleted ${user.email}, with ${identities} links to identity providers.`, sessions)
  console.log(`What remains: lines in logs and backups with the user ID ${user.id}, and what dashboards stored.`)
  console.log('A connection that provisions adds the user again at the next sign-in: remove the person there first.')
}

async function importFile(file: string): Promise<void> {
  const { importUsers, readUsers } = await import('../lib/user-import')
  let csv: string
  try {
    csv = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new UsageError(`${file} can’t be read.`)
  }
  const users = readUsers(csv)
  const unusable = await importUsers(users)
  console.log(`Imported ${users.length} users.`)
  if (unusable.length > 0)
    console.log(['Their domain requires SSO, so their password can’t be used:', ...unusable].join('\n  '))
}

function checkLanguage(language: string): void {
  if (!/^[a-z]{2,3}$/.test(language)) throw new UsageError(`“${language}” is not a language, such as en or de.`)
}

async function existing(email: string): Promise<User> {
  const { findUserByEmail } = await import('../lib/user')
  const user = await findUserByEmail(email)
  if (!user) throw new UsageError(`There is no user ${email}. Add it with npm run users -- add ${email}`)
  return user
}

async function existingConnection(slug: string): Promise<ListedConnection> {
  const { listConnections } = await import('../lib/sso/manage')
  const [connection] = await listConnections(slug)
  if (!connection) throw new UsageError(`There is no connection ${slug}. List them with npm run connections -- list`)
  return connection
}

async function link(user: User, slug: string, subject: string, given: string | undefined): Promise<void> {
  const { issuersOf, linkUser } = await import('../lib/sso/manage')
  const connection = await existingConnection(slug)
  const [known, ...others] = await issuersOf(connection.id, subject)
  const issuer = given ?? (known && others.length === 0 ? known : await issuerOf(connection))
  await linkUser(user.id, connection, { issuer, subject })
  console.log(`Linked ${user.email} to the subject ${subject} at ${slug}.`)
}

/** The issuer that the ID tokens or assertions of a connection name. */
async function issuerOf(connection: ListedConnection): Promise<string> {
  const { isOidc } = await import('../lib/sso/connection')
  if (!isOidc(connection)) return connection.settings.issuer
  const { discover } = await import('../lib/sso/oidc/sign-in')
  const { slug } = connection
  const { metadata } = await discover(connection).catch((cause) => {
    throw new Error(`The metadata of ${slug} can’t be used: npm run connections -- check ${slug}`, { cause })
  })
  if (metadata.issuer.includes('{tenantid}'))
    throw new UsageError(`${slug} has several tenants: pass the --issuer of the subject, ${metadata.issuer}`)
  return metadata.issuer
}

async function unlink(user: User, slug: string): Promise<void> {
  const { unlinkUser } = await import('../lib/sso/manage')
  const connection = await existingConnection(slug)
  const unlinked = await unlinkUser(user.id, connection.id)
  if (!unlinked) return console.log(`${user.email} was not linked to ${slug}.`)
  console.log(`Unlinked ${user.email} from ${slug}. Sessions ended: ${unlinked.ended}.`)
  console.log(`Its subject is rejected until: npm run users -- link ${user.email} ${slug} ${unlinked.subject}`)
}

async function invite(email: string, language = 'en'): Promise<void> {
  const { createUser, findUserByEmail } = await import('../lib/user')
  const { queueResetMail } = await import('../lib/mail/outbox')
  const { sendDueMails } = await import('../lib/mail/sender')
  const { sendsMail } = await import('../lib/settings/env')
  if (!sendsMail()) throw new UsageError('SMTP_URL and MAIL_FROM are not set.')
  checkLanguage(language)
  const added = await createUser(email)
  const user = (await findUserByEmail(email))!
  if (user.disabledAt) throw new UsageError(`${user.email} is disabled: npm run users -- enable ${user.email}`)
  if (user.ssoOnly) throw new UsageError(`${user.email} can only sign in through SSO, and needs no password.`)
  const queued = await queueResetMail([user.email], { language, device: null })
  if (!queued) throw new UsageError(`${user.email} got too many mails recently. Try again later.`)
  console.log(`${added ? 'Added' : 'Invited'} ${user.email}. A mail with a link is on its way.`)
  await sendDueMails(30_000)
}

async function list(json = false): Promise<void> {
  const { listUsers } = await import('../lib/user')
  let users: User[]
  let after = ''
  do {
    users = await listUsers(after, pageSize)
    for (const user of users) console.log(json ? JSON.stringify(user) : [user.email, ...stateOf(user)].join('  '))
    after = users.at(-1)?.email ?? after
  } while (users.length === pageSize && process.stdout.writable)
}

async function show(user: User, json = false): Promise<void> {
  const { detailsOfUser } = await import('../lib/user')
  const { sessions, ...details } = await detailsOfUser(user.id)
  const [last] = sessions
  const live = sessions.filter(({ isLive }) => isLive)
  if (json) return console.log(JSON.stringify({ ...user, ...details, lastSignIn: last ?? null, sessions: live }))
  console.log([user.email, user.id, ...stateOf(user)].join('  '))
  console.log(
    `Created ${details.createdAt.toISOString()}, ${details.hasPassword ? 'has a password' : 'has no password'}`,
  )
  for (const { connection, subject } of details.identities) console.log(`Linked to ${connection} as ${subject}`)
  console.log(
    `Last sign-in: ${last ? `${last.createdAt.toISOString()}, ${wayOf(last)}` : 'none in the past two weeks'}`,
  )
  console.log(`Live sessions: ${live.length}`)
  for (const session of live) {
    const { id, createdAt, rotatedAt, expiresAt } = session
    const renewed = rotatedAt ? `, renewed ${rotatedAt.toISOString()}` : ''
    const times = `began ${createdAt.toISOString()}${renewed}, ends ${expiresAt.toISOString()}`
    console.log(`  ${id}  ${times}, ${wayOf(session)}`)
  }
}

/** How a session began, and from which device. */
function wayOf({ method, connection, device }: UserSession): string {
  const ways = { password: 'password', sso: connection ?? 'a removed connection', code: 'a callback of another app' }
  return device ? `${ways[method]}, ${device}` : ways[method]
}

function stateOf({ disabledAt, ssoOnly }: User): string[] {
  return [...(disabledAt ? [`disabled since ${disabledAt.toISOString()}`] : []), ...(ssoOnly ? ['SSO only'] : [])]
}

const ofUser = (act: (user: User) => Promise<void>) => ({
  parameters: ['EMAIL'],
  run: (_: unknown, email: string) => withAddress(email, async () => act(await existing(email))),
})
runCommand({
  usage,
  options: {
    'sso-only': { type: 'boolean' },
    language: { type: 'string' },
    issuer: { type: 'string' },
    domain: { type: 'string' },
    undo: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  commands: {
    add: {
      parameters: ['EMAIL'],
      flags: ['sso-only'],
      run: (flags, email) => withAddress(email, () => add(email, flags['sso-only']), parseEmailAddress),
    },
    'allow-password': {
      parameters: ['[EMAIL]'],
      flags: ['domain', 'undo'],
      run: (flags, email?: string) => withDatabaseAsOwner(() => allowPassword(flags, email)),
    },
    delete: ofUser(remove),
    disable: ofUser(disable),
    enable: ofUser(enable),
    import: { parameters: ['FILE'], run: (_, file) => withDatabaseAsOwner(() => importFile(file)) },
    invite: {
      parameters: ['EMAIL'],
      flags: ['language'],
      run: ({ language }, email) => withAddress(email, () => invite(email, language), parseEmailAddress),
    },
    link: {
      parameters: ['EMAIL', 'CONNECTION', 'SUBJECT'],
      flags: ['issuer'],
      run: ({ issuer }, email, slug, subject) =>
        withAddress(email, async () => link(await existing(email), slug, subject, issuer)),
    },
    list: { flags: ['json'], run: ({ json }) => withDatabaseAsOwner(() => list(json)) },
    rename: {
      parameters: ['OLD', 'NEW'],
      flags: ['language'],
      run: ({ language }, old, email) => {
        checkAddress(email, parseEmailAddress)
        return withAddress(old, async () => rename(await existing(old), email, language))
      },
    },
    show: {
      parameters: ['EMAIL'],
      flags: ['json'],
      run: ({ json }, email) => withAddress(email, async () => show(await existing(email), json)),
    },
    'sign-out': ofUser(signOut),
    unlink: {
      parameters: ['EMAIL', 'CONNECTION'],
      run: (_, email, slug) => withAddress(email, async () => unlink(await existing(email), slug)),
    },
  },
})
