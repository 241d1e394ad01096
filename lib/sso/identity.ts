import {
  emailDomain,
  foldCase,
  parseEmailAddress,
  toUnicode,
} from '../contract/email-address'
import { lockAddress } from '../database/address-lock'
import { mayLink, mayUsePassword } from '../database/domain-rules'
import { Prisma, prisma, type Transaction, transaction } from '../database/prisma'
import { writeEvent } from '../event/record'
import { type Connection, parseDomain, readDomain } from './connection'
import { SignInRejected } from './rejection'

/**
 * The user at the identity provider. `isEmail`: the provider may change the letter case
 * of the subject.
 */
export type Subject = { issuer: string; subject: string; isEmail?: boolean }

/**
 * The email from the provider, to link or create a user. `domains`: the tenant vouches
 * only for these, if set.
 */
export type Contact = {
  email: string
  isVerified: boolean
  hostedDomain?: string | null
  domains?: string[]
}

const subjectLock = 71_001 // the class of an advisory lock

/** What a verified sign-in does, by the rule that `decide` applies. */
export type Decision =
  | { outcome: 'known' | 'link'; userId: string }
  | { outcome: 'create' }
  | SignInRejected

/**
 * Returns the user of an identity. If allowed, links a user by email or creates one.
 * Throws SignInRejected.
 */
export async function findOrLinkUser(
  connection: Connection,
  identity: Subject,
  contact: () => Promise<Contact>,
): Promise<string> {
  const known = await findUser(prisma(), connection, identity)
  if (known) return requireUser(decideKnown(known))

  const given = await contact()
  if (!(await isCurrent(prisma(), connection))) throw changedMeanwhile()

  const email = await checkEmail(connection, given)
  const subjectKey = `${connection.id} ${foldCase(identity.subject)}`
  const user = await transaction(async (tx) => {
    // These locks, always in this order, serialize the first sign-ins of one subject and
    // of one address.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${subjectLock}, hashtext(${subjectKey}))`
    await lockAddress(tx, email)

    return link(tx, connection, identity, email)
  })

  // thrown here, because an error inside the transaction would close its database
  // connection
  return requireUser(user)
}

function requireUser(user: { userId: string } | SignInRejected): string {
  if (user instanceof SignInRejected) throw user
  return user.userId
}

/**
 * Decides what a verified sign-in does. Only reads. `readEmail` returns the checked
 * address, and is called if the identity is unknown.
 */
export async function decide(
  database: Transaction,
  connection: Connection,
  identity: Subject,
  readEmail: () => Promise<string>,
): Promise<Decision> {
  const known = await findUser(database, connection, identity)
  if (known) return decideKnown(known)

  const found = await findUserByEmail(database, connection, await readEmail())
  const problem = findLinkProblem(connection, found)
  if (problem) return new SignInRejected(problem, 'no_access')

  return found ? { outcome: 'link', userId: found.userId } : { outcome: 'create' }
}

/**
 * Returns what the sign-in of a verified account would do now. Changes nothing. Throws
 * SignInRejected if the address can't be used.
 */
export async function foresee(
  connection: Connection,
  identity: Subject,
  contact: () => Promise<Contact>,
): Promise<Decision> {
  return decide(prisma(), connection, identity, async () =>
    checkEmail(connection, await contact()),
  )
}

function decideKnown({ userId, isDisabled }: KnownUser): Known {
  if (userId === null) return new SignInRejected('subject_unlinked', 'no_access')
  if (isDisabled) return new SignInRejected('user_disabled', 'no_access')

  return { outcome: 'known', userId }
}

type Known = { outcome: 'known'; userId: string } | SignInRejected

/** `userId` is null if an operator has unlinked the subject. */
type KnownUser = { userId: string | null; isDisabled: boolean }

async function findUser(
  database: Transaction,
  { id: connectionId }: Connection,
  { issuer, subject, isEmail }: Subject,
) {
  // The collation C converts only A–Z, as foldCase does.
  const [known, another] = await database.$queryRaw<(KnownUser & { isExact: boolean })[]>`
    SELECT user_id AS "userId", subject = ${subject} AS "isExact",
      (SELECT disabled_at FROM users WHERE users.id = user_id) IS NOT NULL AS "isDisabled"
    FROM identities
    WHERE connection_id = ${connectionId} AND issuer = ${issuer} AND lower(subject COLLATE "C") = ${foldCase(subject)}
      AND (subject = ${subject} OR ${isEmail === true})
    ORDER BY subject = ${subject} DESC LIMIT 2`

  // The subjects of two people may differ in letter case only, so an inexact match must
  // be the only one.
  if (!known) return null
  return known.isExact || !another ? known : null
}

/** Whether a stored subject is the one from the provider. */
export function isSameSubject({ subject, isEmail }: Subject, known: string): boolean {
  if (subject === known) return true
  return isEmail === true && foldCase(subject) === foldCase(known)
}

/**
 * Links or creates the user, if `decide` allows it. Returns a rejection instead of throwing
 * it, see `findOrLinkUser`.
 */
async function link(
  tx: Transaction,
  connection: Connection,
  identity: Subject,
  email: string,
): Promise<{ userId: string } | SignInRejected> {
  if (!(await lockDomain(tx, connection, email)))
    return new SignInRejected('email_domain', 'no_access')
  if (!(await isCurrent(tx, connection))) return changedMeanwhile()

  await lockUserByEmail(tx, email)
  const decision = await decide(tx, connection, identity, async () => email)
  if (decision instanceof SignInRejected || decision.outcome === 'known') return decision

  const userId =
    decision.outcome === 'link' ? decision.userId : await createUser(tx, email)
  const { issuer, subject } = identity
  await tx.identity.createMany({
    data: [{ connectionId: connection.id, issuer, subject, userId }],
  })

  const about = { actor: Prisma.sql`'provider'`, userId, connectionId: connection.id }
  if (decision.outcome === 'create') await writeEvent(tx, 'user_added', about)
  await writeEvent(tx, 'user_linked', about)

  return { userId }
}

/**
 * Whether the connection still has the issuer that this sign-in began with. A command that
 * moves it to another issuer gives the links of all users that issuer.
 */
async function isCurrent(
  database: Transaction,
  { id, settings }: Connection,
): Promise<boolean> {
  const [row] = await database.$queryRaw<{ issuer: string }[]>`
    SELECT settings->>'issuer' AS issuer FROM connections WHERE id = ${id}`
  return row?.issuer === settings.issuer
}

/** The sign-in begins again, with the new settings. */
function changedMeanwhile(): SignInRejected {
  return new SignInRejected('connection_changed', 'attempt_invalid')
}

/**
 * Locks the row of the connection and the domain of an address. A command that removes the
 * domain waits until the link is committed, and can then delete it. Returns false if the
 * domain was removed.
 */
async function lockDomain(
  tx: Transaction,
  { id }: Connection,
  email: string,
): Promise<boolean> {
  const found = await tx.$executeRaw`
    SELECT 1 FROM connection_domains WHERE ${mayLink(id, readDomain(email)!)} FOR KEY SHARE`
  return found > 0
}

/**
 * Locks the user's row, so that a concurrent set-up of a second factor is complete, or
 * happens after the link.
 */
async function lockUserByEmail(tx: Transaction, email: string): Promise<void> {
  await tx.$executeRaw`SELECT 1 FROM users WHERE ${hasEmail(email)} LIMIT 1 FOR KEY SHARE`
}

/** A condition on a row of `users`, and the order of the rows that meet it. */
function hasEmail(email: string): Prisma.Sql {
  return Prisma.sql`email = ANY (${[email, toUnicode(email)]}) ORDER BY email = ${email} DESC`
}

type Linkable = {
  userId: string
  isDisabled: boolean
  isLinked: boolean
  needsSecondFactor: boolean
}

async function findUserByEmail(
  database: Transaction,
  connection: Connection,
  email: string,
): Promise<Linkable | undefined> {
  const [found] = await database.$queryRaw<Linkable[]>`
    SELECT id AS "userId", disabled_at IS NOT NULL AS "isDisabled",
      second_factor_at IS NOT NULL AND ${mayUsePassword} AS "needsSecondFactor",
      (SELECT true FROM identities WHERE user_id = users.id AND connection_id = ${connection.id}) IS TRUE AS "isLinked"
    FROM users WHERE ${hasEmail(email)} LIMIT 1`

  return found
}

function findLinkProblem(
  { provision }: Connection,
  found: Linkable | undefined,
): string | null {
  // The address may belong to another person now. An operator decides whether to link the
  // user.
  if (found?.isLinked) return 'identity_other_subject'

  // A sign-in at the provider must not bypass the second factor of a password, so only an
  // operator can link the user. Without a password, the user has no other way to sign in.
  if (found?.needsSecondFactor) return 'identity_second_factor'

  if (found?.isDisabled) return 'user_disabled'

  return found || provision ? null : 'identity_not_provisioned'
}

async function createUser(tx: Transaction, email: string): Promise<string> {
  const { id } = await tx.user.create({
    data: { email, emailDomain: emailDomain(email) },
    select: { id: true },
  })

  return id
}

/**
 * Returns the address in lower case if it may identify a user. Otherwise, throws
 * SignInRejected.
 */
async function checkEmail(connection: Connection, contact: Contact): Promise<string> {
  const { email, isVerified, hostedDomain, domains } = contact
  if (!isVerified) throw new SignInRejected('email_unverified', 'no_access')

  const address = parseEmailAddress(email)
  const domain = address && readDomain(address)

  // ASCII only, because other letters can look like ASCII letters, or become ASCII
  // letters in lower case.
  if (!domain || /[^ -~]/.test(address))
    throw new SignInRejected('email_malformed', 'no_access')
  if (!(await owns(connection, domain)))
    throw new SignInRejected('email_domain', 'no_access')
  if (domains && !domains.includes(domain))
    throw new SignInRejected('email_tenant', 'no_access')

  const isForeign =
    hostedDomain !== undefined &&
    !(await owns(connection, parseDomain(hostedDomain ?? '')))
  if (isForeign) throw new SignInRejected('email_hosted_domain', 'no_access')

  return address.toLowerCase()
}

async function owns(
  { id: connectionId }: Connection,
  domain: string | null,
): Promise<boolean> {
  if (domain === null) return false

  const found = await prisma().$queryRaw<unknown[]>`
    SELECT 1 FROM connection_domains WHERE ${mayLink(connectionId, domain)}`
  return found.length > 0
}
