import {
  emailDomain,
  foldCase,
  parseEmailAddress,
  toUnicode,
} from '../contract/email-address'
import { mayUsePassword } from '../database/conditions'
import { prisma, type Transaction, transaction } from '../database/prisma'
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

const locks = { subject: 71_001, email: 71_002 } // the classes of two advisory locks

/**
 * Returns the user of an identity. If allowed, links a user by email or creates one.
 * Throws SignInRejected.
 */
export async function findOrLinkUser(
  connection: Connection,
  identity: Subject,
  contact: () => Promise<Contact>,
) {
  const known = await findUser(prisma(), connection, identity)
  if (known) return requireEnabled(known)

  const email = await checkEmail(connection, await contact())
  const subjectKey = `${connection.id} ${foldCase(identity.subject)}`
  const user = await transaction(async (tx) => {
    // These locks, always in this order, serialize the first sign-ins of one subject and
    // of one address.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${locks.subject}, hashtext(${subjectKey}))`
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${locks.email}, hashtext(${email}))`

    const linkedMeanwhile = await findUser(tx, connection, identity)
    return linkedMeanwhile ?? link(tx, connection, identity, email)
  })

  // thrown here, because an error inside the transaction would close its database
  // connection
  if (user instanceof SignInRejected) throw user

  return requireEnabled(user)
}

/** `userId` is null if an operator has unlinked the subject. */
type KnownUser = { userId: string | null; isDisabled: boolean }

async function findUser(
  tx: Transaction,
  { id: connectionId }: Connection,
  { issuer, subject, isEmail }: Subject,
) {
  // The collation C converts only A–Z, as foldCase does.
  const [known, another] = await tx.$queryRaw<(KnownUser & { isExact: boolean })[]>`
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

/** Returns the error instead of throwing it, see `findOrLinkUser`. */
async function link(
  tx: Transaction,
  connection: Connection,
  { issuer, subject }: Subject,
  email: string,
): Promise<KnownUser | SignInRejected> {
  const found = await lockUserByEmail(tx, connection, email)
  const problem = findLinkProblem(connection, found)
  if (problem) return new SignInRejected(problem, 'no_access')
  if (found?.isDisabled) return found

  const userId = found?.userId ?? (await createUser(tx, email))
  await tx.identity.createMany({
    data: [{ connectionId: connection.id, issuer, subject, userId }],
  })

  return { userId, isDisabled: false }
}

type Linkable = KnownUser & { isLinked: boolean; needsSecondFactor: boolean }

async function lockUserByEmail(
  tx: Transaction,
  connection: Connection,
  email: string,
): Promise<Linkable | undefined> {
  // Locks the user's row, so that a concurrent set-up of a second factor is complete, or
  // happens after the link.
  const [found] = await tx.$queryRaw<Linkable[]>`
    SELECT id AS "userId", disabled_at IS NOT NULL AS "isDisabled",
      second_factor_at IS NOT NULL AND ${mayUsePassword} AS "needsSecondFactor",
      (SELECT true FROM identities WHERE user_id = users.id AND connection_id = ${connection.id}) IS TRUE AS "isLinked"
    FROM users WHERE email = ANY (${[email, toUnicode(email)]}) ORDER BY email = ${email} DESC LIMIT 1
    FOR KEY SHARE`

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

  const count = await prisma().connectionDomain.count({ where: { domain, connectionId } })
  return count > 0
}

function requireEnabled({ userId, isDisabled }: KnownUser): string {
  if (userId === null) throw new SignInRejected('subject_unlinked', 'no_access')
  if (isDisabled) throw new SignInRejected('user_disabled', 'no_access')
  return userId
}
