import { ScimError } from './error'

// Paths and filters (RFC 7644 §3.4.2.2, §3.5.2), as far as directories use them. Names of
// attributes have no letter case (RFC 7643 §2.1), so they are read in lower case.

const maxLength = 2_000

/** `attribute = value`, such as `type eq "work"`. */
export type Condition = { path: Path; value: string | number | boolean | null }

/**
 * The place of a value in a user. `extension`: the attribute is not one of the core schema.
 * `filter`: which values of the attribute are meant.
 */
export type Path = {
  extension: boolean
  attribute: string
  filter: Condition[] | null
  sub: string | null
}

const coreSchema = 'urn:ietf:params:scim:schemas:core:2.0:user'

const name = '[A-Za-z$][\\w$-]*'
const text = '"(?:[^"\\\\]|\\\\.)*"'
const pathPattern = `(?:(urn:[^\\s"\\[\\]]+):)?(${name})(?:\\[((?:[^\\]"\\[]|${text})*)\\])?(?:\\.(${name}))?`
const wholePath = new RegExp(`^${pathPattern}$`, 'i')
const nextCondition = new RegExp(
  `\\s*(${pathPattern})\\s+eq\\s+(${text}|true|false|null|-?\\d+(?:\\.\\d+)?)(?=\\s|$)\\s*`,
  'iy',
)
const nextAnd = /and\s+/iy

/** Whether a text names the core schema of users, as the key of an object can. */
export function isCoreSchema(key: string): boolean {
  return key.toLowerCase() === coreSchema
}

/** Parses the path of an attribute. Throws ScimError (`invalidPath`). */
export function parsePath(given: string): Path {
  const path = readPath(given)
  if (path) return path

  throw new ScimError(
    400,
    'scim_path',
    'The path is not one like name.givenName or emails[type eq "work"].value.',
    'invalidPath',
  )
}

/**
 * Parses a filter: comparisons with `eq`, joined by `and`. Throws ScimError
 * (`invalidFilter`) for any other filter.
 */
export function parseFilter(given: string): Condition[] {
  const conditions = readConditions(given)
  if (conditions) return conditions

  throw invalidFilter()
}

/** Returns the error for a filter that can't be parsed, or whose attribute has no filter. */
export function invalidFilter(): ScimError {
  return new ScimError(
    400,
    'scim_filter',
    'Use eq with userName, externalId, id or emails[type eq "work"].value, joined by and.',
    'invalidFilter',
  )
}

function readPath(given: string): Path | null {
  if (given.length > maxLength) return null

  const [, schema, attribute, filter, sub] = wholePath.exec(given) ?? []
  if (attribute === undefined) return null

  const conditions = filter === undefined ? null : readConditions(filter)
  if (filter !== undefined && !conditions) return null

  return {
    extension: schema !== undefined && !isCoreSchema(schema),
    attribute: attribute.toLowerCase(),
    filter: conditions,
    sub: sub?.toLowerCase() ?? null,
  }
}

function readConditions(given: string): Condition[] | null {
  if (given.length > maxLength) return null

  const conditions: Condition[] = []
  for (let at = 0; ; ) {
    nextCondition.lastIndex = at
    const found = nextCondition.exec(given)
    if (!found) return null

    const end = nextCondition.lastIndex // the filter in the path sets it too
    const path = readPath(found[1]!)
    const value = parseValue(found[6]!)
    if (!path || value === undefined) return null

    conditions.push({ path, value })
    if (end === given.length) return conditions

    nextAnd.lastIndex = end
    if (!nextAnd.test(given)) return null
    at = nextAnd.lastIndex
  }
}

/** Returns undefined for a text with an escape that JSON does not have. */
function parseValue(given: string): Condition['value'] | undefined {
  try {
    return JSON.parse(given.startsWith('"') ? given : given.toLowerCase())
  } catch {
    return undefined
  }
}
