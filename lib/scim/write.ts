import { emailForms, foldCase, toUnicode } from '../contract/email-address'
import { lockAddress } from '../database/address-lock'
import { mayUsePassword } from '../database/domain-rules'
import { Prisma, type Transaction, transaction } from '../database/prisma'
import { withEvents, writeEvent } from '../event/record'
import { errorCode } from '../log/error-code'
import { lockUsers } from '../session/revoke'
import { changeAddress } from '../user/user'
import { disable, type Effect, setActive } from './active'
import { chooseAddress, outsideDomains } from './address'
import { type Attributes, type Change, emptyAttributes } from './attributes'
import { immutable, ScimError, taken, unknownUser } from './error'
import { findUser, isOf, requireUser } from './find'
import { type StoredUser, toAttributes } from './resource'

// The lock order is: address, domains, user. A first sign-in has the same order. A new
// address of a user is locked last, because no transaction that holds it waits for the user.

/** A user of a directory after a request, and what the request has changed. */
export type Outcome = { user: StoredUser; effects: Effect[] }

/**
 * Adds a user to the directory of a connection. A user who has the address is adopted,
 * otherwise a user is created. Throws ScimError.
 */
export async function addUser(connectionId: string, given: Attributes): Promise<Outcome> {
  return change(async (tx) => {
    const expected = chooseAddress(given, await readDomains(tx, connectionId))
    if (!expected) return outsideDomains(given)

    await lockAddress(tx, expected)
    const address = chooseAddress(given, await lockDomains(tx, connectionId))
    if (address !== expected) return outsideDomains(given)

    const known = await lockUserByEmail(tx, address)
    if (await isTaken(tx, connectionId, given, known))
      return taken('A user with this userName, externalId or address already exists.')

    const userId = known ?? (await createUser(tx, address))
    const { userName, externalId, givenName, familyName, displayName } = given
    const columns = { userName, externalId, givenName, familyName, displayName }
    await tx.scimUser.createMany({ data: [{ connectionId, userId, ...columns }] })
    await writeEvent(tx, known ? 'directory_user_added' : 'user_added', { userId })
    const changed = await setActive(tx, connectionId, userId, given.active ?? true)

    const user = (await findUser(tx, connectionId, userId))!
    return { user, effects: [known ? 'adopted' : 'created', ...changed] }
  })
}

/**
 * Replaces what the directory keeps of a user (PUT). Without `active`, it does not change.
 * Throws ScimError.
 */
export function replaceUser(
  connectionId: string,
  userId: string,
  given: Attributes,
): Promise<Outcome> {
  return updateUser(connectionId, userId, () => given)
}

/** Applies changes in their order, all or none (PATCH). Throws ScimError. */
export function patchUser(
  connectionId: string,
  userId: string,
  changes: Change[],
): Promise<Outcome> {
  return updateUser(connectionId, userId, (stored) => {
    const attributes = { ...emptyAttributes(), ...toAttributes(stored) }
    for (const apply of changes) apply(attributes)

    return attributes
  })
}

async function updateUser(
  connectionId: string,
  userId: string,
  decide: (stored: StoredUser) => Attributes,
): Promise<Outcome> {
  await requireUser(connectionId, userId) // so that most unknown users lock nothing

  return change(async (tx) => {
    const domains = await lockDomains(tx, connectionId)
    await lockUsers(tx, [userId])
    const stored = await findUser(tx, connectionId, userId)
    if (!stored) return unknownUser()

    const attributes = decide(stored)
    const address = chooseAddress(attributes, domains)
    if (!address) return outsideDomains(attributes)
    if (await isTaken(tx, connectionId, attributes, userId, { isMember: true }))
      return taken('Another user of this directory has this userName or externalId.')

    const isRenamed = !emailForms(address)!.includes(stored.email)
    const problem = isRenamed && (await findRenameProblem(tx, userId, address))
    if (problem) return problem

    if (isRenamed)
      await changeAddress(tx, { id: userId, email: stored.email }, address, 'en')
    await storeAttributes(tx, connectionId, userId, attributes)
    const { active } = attributes
    const changed =
      active === null ? [] : await setActive(tx, connectionId, userId, active)

    const user = (await findUser(tx, connectionId, userId))!
    return { user, effects: [...(isRenamed ? (['renamed'] as const) : []), ...changed] }
  })
}

/**
 * Removes a user from the directory, and disables the user. Only an operator can delete
 * one. Throws ScimError.
 */
export async function removeUser(connectionId: string, userId: string): Promise<Outcome> {
  await requireUser(connectionId, userId)

  return change(async (tx) => {
    await lockDomains(tx, connectionId)
    await lockUsers(tx, [userId])
    const user = await findUser(tx, connectionId, userId)
    if (!user) return unknownUser()

    const changed = await disable(tx, connectionId, userId)
    const deletion = Prisma.sql`
      DELETE FROM scim_users WHERE user_id = ${userId}::uuid AND ${isOf(connectionId)}`
    await tx.$executeRaw(withEvents(deletion, 'directory_user_removed', { userId }))

    return { user, effects: ['deleted', ...changed] }
  })
}

/**
 * Runs `work` in one transaction. It returns an error instead of throwing it, before it
 * changes anything: an error inside the transaction would close its database connection.
 */
async function change(
  work: (tx: Transaction) => Promise<Outcome | ScimError>,
): Promise<Outcome> {
  const result = await transaction(work).catch((error: Error) => {
    // unique_violation: another request or command has just added the same user
    if (errorCode(error) === '23505') return taken('Another user has just got this name.')
    throw error
  })
  if (result instanceof ScimError) throw result

  return result
}

/** Returns the domains for which a connection is live. */
async function readDomains(
  tx: Transaction,
  connectionId: string,
  lock = Prisma.empty,
): Promise<string[]> {
  const rows = await tx.$queryRaw<{ domain: string }[]>`
    SELECT domain FROM connection_domains
    WHERE connection_id = ${connectionId}::uuid AND live_since IS NOT NULL ORDER BY domain ${lock}`

  return rows.map(({ domain }) => domain)
}

/**
 * Returns the domains for which a connection is live, and keeps them so until the end of the
 * transaction. A command that moves a domain to another connection waits.
 */
function lockDomains(tx: Transaction, connectionId: string): Promise<string[]> {
  return readDomains(tx, connectionId, Prisma.sql`FOR SHARE`)
}

/** Locks the user with an address. Returns the ID, or null. */
async function lockUserByEmail(tx: Transaction, email: string): Promise<string | null> {
  const [user] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM users WHERE email = ANY (${[email, toUnicode(email)]})
    ORDER BY email = ${email} DESC LIMIT 1 FOR UPDATE`

  return user?.id ?? null
}

async function createUser(tx: Transaction, email: string): Promise<string> {
  const emailDomain = email.slice(email.lastIndexOf('@') + 1)
  const select = { id: true }

  return (await tx.user.create({ data: { email, emailDomain }, select })).id
}

/**
 * Whether a user of the directory has one of these names. `userId` is the user who gets
 * them, and must not be in the directory yet unless `isMember`.
 */
async function isTaken(
  tx: Transaction,
  connectionId: string,
  { userName, externalId }: Attributes,
  userId: string | null,
  { isMember = false } = {},
): Promise<boolean> {
  const ofConnection = Prisma.sql`
    SELECT user_id FROM scim_users WHERE ${isOf(connectionId)} AND`
  const rows = await tx.$queryRaw<{ userId: string }[]>`
    SELECT user_id AS "userId" FROM (
      ${ofConnection} lower(user_name COLLATE "C") = ${foldCase(userName)}
      UNION ALL ${ofConnection} external_id = ${externalId}
      UNION ALL ${ofConnection} user_id = ${userId}::uuid
    ) AS known`

  return rows.some((row) => !isMember || row.userId !== userId)
}

/**
 * Returns why a user can't get an address, or null. Users who may use a password keep
 * theirs: with another one, its owner could reset the password and take the account over.
 */
async function findRenameProblem(
  tx: Transaction,
  userId: string,
  address: string,
): Promise<ScimError | null> {
  const [user] = await tx.$queryRaw<{ mayUsePassword: boolean }[]>`
    SELECT ${mayUsePassword} AS "mayUsePassword" FROM users WHERE id = ${userId}::uuid`
  if (user!.mayUsePassword)
    return immutable(
      'The user may use a password here, so only an operator can change the email address.',
    )

  await lockAddress(tx, address)
  const owners = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM users WHERE email = ANY (${emailForms(address)!}) AND id <> ${userId}::uuid`

  return owners.length > 0 ? taken('Another user has this email address.') : null
}

async function storeAttributes(
  tx: Transaction,
  connectionId: string,
  userId: string,
  { userName, externalId, givenName, familyName, displayName }: Attributes,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE scim_users SET user_name = ${userName}, external_id = ${externalId}, given_name = ${givenName},
      family_name = ${familyName}, display_name = ${displayName}, updated_at = now()
    WHERE user_id = ${userId}::uuid AND ${isOf(connectionId)}`
}
