import { emailForms, foldCase } from '../contract/email-address'
import { ownsLive } from '../database/domain-rules'
import { Prisma, prisma, type Transaction } from '../database/prisma'
import { invalidValue, unknownUser } from './error'
import { type Condition, invalidFilter, type Path, parseFilter } from './path'
import { type StoredUser, toList, toResource } from './resource'

const maxCount = 100
const maxIndex = 2_147_483_647
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const columns = Prisma.sql`
  user_id AS "userId", external_id AS "externalId", user_name AS "userName",
  given_name AS "givenName", family_name AS "familyName", display_name AS "displayName",
  (SELECT email FROM users WHERE users.id = user_id) AS email,
  (SELECT disabled_at IS NULL FROM users WHERE users.id = user_id) AS "isActive",
  ARRAY[extract(epoch FROM created_at), extract(epoch FROM updated_at)]::float8[] AS times`

/**
 * A condition on a row of `scim_users` that is found by another key. `IS TRUE` prevents
 * plans that read all users of a connection.
 */
export function isOf(connectionId: string): Prisma.Sql {
  return Prisma.sql`(connection_id = ${connectionId}::uuid) IS TRUE`
}

/**
 * A condition on a row of `scim_users`: whether the connection is live for the domain of
 * the user.
 */
function isOwned(connectionId: string): Prisma.Sql {
  return Prisma.sql`(
    SELECT ${ownsLive(connectionId)} FROM users WHERE users.id = user_id) IS TRUE`
}

/** Returns a user of a directory. Throws ScimError (404). */
export async function requireUser(
  connectionId: string,
  userId: string,
): Promise<StoredUser> {
  const user = uuid.test(userId) && (await findUser(prisma(), connectionId, userId))
  if (!user) throw unknownUser()

  return user
}

/** Returns the user of a directory with an ID, which must be a UUID, or null. */
export async function findUser(
  database: Transaction,
  connectionId: string,
  userId: string,
): Promise<StoredUser | null> {
  const [user] = await database.$queryRaw<StoredUser[]>`
    SELECT ${columns} FROM scim_users
    WHERE user_id = ${userId}::uuid AND ${isOf(connectionId)} AND ${isOwned(connectionId)}`

  return user ?? null
}

/**
 * Returns a page of the users of a directory, in the order in which they were added.
 * `query` is that of RFC 7644 §3.4.2. Throws ScimError.
 */
export async function listUsers(connectionId: string, query: URLSearchParams) {
  const filter = query.get('filter')
  const found =
    filter === null
      ? Prisma.sql`connection_id = ${connectionId}::uuid`
      : Prisma.sql`${isOf(connectionId)} AND ${toSql(parseFilter(filter))}`
  const startIndex = readNumber(query, 'startIndex', 1, 1)
  const count = Math.min(maxCount, readNumber(query, 'count', maxCount, 0))

  const where = Prisma.sql`${found} AND ${isOwned(connectionId)}`
  const [row] = await prisma().$queryRaw<{ total: number }[]>`
    SELECT count(*)::int AS total FROM scim_users WHERE ${where}`
  const users = await prisma().$queryRaw<StoredUser[]>`
    SELECT ${columns} FROM scim_users WHERE ${where}
    ORDER BY created_at, user_id LIMIT ${count} OFFSET ${startIndex - 1}`

  return toList(users.map(toResource), row!.total, startIndex)
}

/** A number below `least` counts as `least` (RFC 7644 §3.4.2.4). */
function readNumber(
  query: URLSearchParams,
  name: string,
  missing: number,
  least: number,
): number {
  const text = query.get(name)
  if (text === null) return missing
  if (!/^-?\d{1,10}$/.test(text)) throw invalidValue(`${name} must be a whole number.`)

  return Math.min(maxIndex, Math.max(least, Number(text)))
}

/** Returns the condition on a row of `scim_users` that a filter stands for. */
function toSql(conditions: Condition[]): Prisma.Sql {
  const parts = conditions.map(({ path, value }) => {
    const name = nameAttribute(path)
    if (!name || typeof value !== 'string') throw invalidFilter()

    return comparisons[name](value)
  })

  return Prisma.join(parts, ' AND ')
}

const comparisons = {
  id: (value: string) =>
    uuid.test(value) ? Prisma.sql`user_id = ${value}::uuid` : Prisma.sql`false`,
  externalId: (value: string) => Prisma.sql`external_id = ${withoutNul(value)}`,
  userName: (value: string) =>
    Prisma.sql`lower(user_name COLLATE "C") = ${foldCase(withoutNul(value))}`,
  email: (value: string) => {
    const forms = emailForms(value.trim()) ?? [withoutNul(value).toLowerCase()]
    return Prisma.sql`user_id = ANY (ARRAY(SELECT id FROM users WHERE email = ANY (${forms})))`
  },
}

/** PostgreSQL can't compare texts with NUL. No stored text has one of these. */
function withoutNul(value: string): string {
  return value.replaceAll(/[\0\p{Surrogate}]/gu, '\uFFFF')
}

/** Returns which attribute a filter names, or null if it can't be filtered by. */
export function nameAttribute(path: Path): keyof typeof comparisons | null {
  const { extension, attribute, filter, sub } = path
  if (extension) return null

  if (attribute === 'emails' && sub === 'value')
    return !filter || isWork(filter) ? 'email' : null
  if (filter || sub !== null) return null

  const names = { id: 'id', externalid: 'externalId', username: 'userName' } as const
  return Object.hasOwn(names, attribute) ? names[attribute as keyof typeof names] : null
}

/** Whether a filter is `type eq "work"`, which is the type of the address of a user. */
function isWork([condition, ...others]: Condition[]): boolean {
  if (!condition || others.length > 0) return false

  const { path, value } = condition
  const isType = path.attribute === 'type' && path.sub === null && path.filter === null
  return isType && typeof value === 'string' && foldCase(value) === 'work'
}
