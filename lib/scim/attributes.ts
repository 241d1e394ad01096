import { foldCase } from '../contract/email-address'
import { immutable, invalidSyntax, invalidValue, ScimError } from './error'
import { type Condition, isCoreSchema, type Path, parsePath } from './path'

// What a directory sends of a user: the body of POST and PUT, and the operations of PATCH.
// Everything is checked when it is read, so that a change can be applied in a transaction.

/** An email address in a message. */
export type Email = { value: string | null; type: string | null; primary: boolean }

/** The attributes that are kept. `active`: null if the directory has not sent it. */
export type Attributes = {
  userName: string
  externalId: string | null
  givenName: string | null
  familyName: string | null
  displayName: string | null
  emails: Email[]
  active: boolean | null
}

/** Changes attributes. Cannot fail. */
export type Change = (attributes: Attributes) => void

type Operation = 'add' | 'replace' | 'remove'

const maxTextLength = 500
const unstorable = /[\0\p{Surrogate}]/u

/** Returns attributes without a value. */
export function emptyAttributes(): Attributes {
  return {
    userName: '',
    externalId: null,
    givenName: null,
    familyName: null,
    displayName: null,
    emails: [],
    active: null,
  }
}

/**
 * Reads the body of POST or PUT (RFC 7643 §4.1). Attributes that are not kept are ignored.
 * Throws ScimError.
 */
export function readUser(body: unknown): Attributes {
  const attributes = emptyAttributes()
  for (const change of readObject('add', requireObject(body))) change(attributes)
  if (attributes.userName === '') throw invalidValue('userName is missing.')

  return attributes
}

/**
 * Reads the body of PATCH (RFC 7644 §3.5.2). Returns the changes in their order. Throws
 * ScimError.
 */
export function readPatch(body: unknown): Change[] {
  const operations = readMember(requireObject(body), 'operations')
  if (!Array.isArray(operations) || operations.length === 0)
    throw invalidSyntax('Operations must be a list of operations.')

  return operations.flatMap(readOperation)
}

function readOperation(given: unknown): Change[] {
  const operation = requireObject(given)
  const op = readOp(readMember(operation, 'op'))
  const path = readMember(operation, 'path')
  const value = readMember(operation, 'value')

  if (path !== undefined && path !== null && path !== '') {
    if (typeof path !== 'string') throw invalidSyntax('A path must be a text.')
    return readChange(op, parsePath(path), value)
  }

  if (op === 'remove')
    throw new ScimError(400, 'scim_path', 'An operation remove needs a path.', 'noTarget')

  return readObject(op, requireObject(value))
}

function readOp(given: unknown): Operation {
  const op = typeof given === 'string' ? given.toLowerCase() : ''
  if (op === 'add' || op === 'replace' || op === 'remove') return op

  throw invalidSyntax('op must be add, replace or remove.')
}

/** Returns the changes of an object whose keys are paths. */
function readObject(op: Operation, object: object): Change[] {
  return Object.entries(object).flatMap(([key, value]) =>
    isCoreSchema(key)
      ? readObject(op, requireObject(value))
      : readChange(op, parsePath(key), value),
  )
}

function requireObject(value: unknown): object {
  if (isObject(value)) return value
  throw invalidSyntax('The body, an operation or its value is not a JSON object.')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a member of an object, whatever the letter case of its name is. */
function readMember(object: object, name: string): unknown {
  return Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1]
}

const texts = {
  username: 'userName',
  externalid: 'externalId',
  displayname: 'displayName',
  'name.givenname': 'givenName',
  'name.familyname': 'familyName',
} as const

/** Returns the changes at a path. There are none if its attribute is not kept. */
function readChange(op: Operation, path: Path, value: unknown): Change[] {
  const { extension, attribute, filter, sub } = path
  if (extension) return []
  if (attribute === 'emails') return readEmails(op, path, value)

  const name = sub === null ? attribute : `${attribute}.${sub}`
  const isKept = Object.hasOwn(texts, name) || name === 'active' || name === 'name'
  if (!isKept) return []
  if (filter)
    throw new ScimError(400, 'scim_path', `${name} has one value.`, 'invalidPath')

  if (name === 'name') return readName(op, value)
  if (name === 'active') return [readActive(op, value)]

  return [readText(op, texts[name as keyof typeof texts], value)]
}

/** The parts that an object does not have stay as they are (RFC 7644 §3.5.2.3). */
function readName(op: Operation, value: unknown): Change[] {
  const isRemoved = op === 'remove' || value === null
  const object = isRemoved ? { givenName: null, familyName: null } : requireObject(value)

  return Object.entries(object).flatMap(([key, part]) =>
    readChange('replace', parsePath(`name.${key}`), part),
  )
}

/** Some directories send texts, such as "False". Nothing else is guessed. */
function readActive(op: Operation, value: unknown): Change {
  const active = op === 'remove' ? null : readBoolean(value)
  if (active === null) throw invalidValue('active must be true or false.')

  return (attributes) => {
    attributes.active = active
  }
}

/** Returns null for anything but true, false, and these words in any letter case. */
function readBoolean(value: unknown): boolean | null {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  if (word === true || word === 'true') return true
  if (word === false || word === 'false') return false

  return null
}

type TextName = (typeof texts)[keyof typeof texts]

function readText(op: Operation, name: TextName, given: unknown): Change {
  const value = op === 'remove' ? null : requireText(name, given)
  if (name !== 'userName')
    return (attributes) => {
      attributes[name] = value
    }

  if (op === 'remove') throw immutable('userName can’t be removed.')
  if (value === null) throw invalidValue('userName is missing.')
  return (attributes) => {
    attributes.userName = value
  }
}

/** Returns null for null and for an empty text. */
function requireText(name: string, value: unknown): string | null {
  if (value === null || value === '') return null
  if (typeof value !== 'string') throw invalidValue(`${name} must be a text.`)
  if (value.length > maxTextLength || unstorable.test(value))
    throw invalidValue(`${name} is too long, or has characters that can’t be stored.`)

  return value
}

function readEmails(op: Operation, { filter, sub }: Path, value: unknown): Change[] {
  const matches = (email: Email) => !filter || filter.every((each) => meets(email, each))
  if (op === 'remove') return [removeEmails(matches, sub)]
  if (!filter && sub === null) return [addEmails(op, readEmailList(value))]

  const part = readPart(sub, value)
  if (!part) return []

  // Entra ID sets a value for the first time by a filter that matches nothing yet
  const created = { ...noEmail, ...describe(filter ?? []), ...part }
  return [
    (attributes) => {
      const matching = attributes.emails.filter(matches)
      for (const email of matching) Object.assign(email, part)
      if (matching.length === 0) attributes.emails.push({ ...created })
    },
  ]
}

const noEmail: Email = { value: null, type: null, primary: false }

function removeEmails(matches: (email: Email) => boolean, sub: string | null): Change {
  return (attributes) => {
    if (sub === null)
      attributes.emails = attributes.emails.filter((email) => !matches(email))
    else if (Object.hasOwn(noEmail, sub))
      for (const email of attributes.emails.filter(matches))
        Object.assign(email, { [sub]: noEmail[sub as keyof Email] })
  }
}

function addEmails(op: Operation, added: Email[]): Change {
  return (attributes) => {
    const kept = op === 'add' ? attributes.emails : []
    // only one address is primary (RFC 7643 §2.4)
    if (added.some(({ primary }) => primary))
      for (const email of kept) email.primary = false
    attributes.emails = [...kept, ...added.map((email) => ({ ...email }))]
  }
}

/** Accepts one address too, and null for none. */
function readEmailList(value: unknown): Email[] {
  const list = [value].flat().filter((each) => each !== null)
  return list.map((each) => ({ ...noEmail, ...readParts(requireEmail(each)) }))
}

function requireEmail(given: unknown): object {
  if (typeof given === 'string') return { value: given }
  if (isObject(given)) return given

  throw invalidValue('An email must be an object with a value.')
}

/** Returns what a path changes of an address, or null if that is not read. */
function readPart(sub: string | null, value: unknown): Partial<Email> | null {
  if (sub === null) return readParts(requireEmail(value))
  return Object.hasOwn(noEmail, sub) ? readParts({ [sub]: value }) : null
}

function readParts(object: object): Partial<Email> {
  const part: Partial<Email> = {}

  for (const [key, value] of Object.entries(object)) {
    const name = key.toLowerCase()
    if (name === 'value' || name === 'type') part[name] = requireText('emails', value)
    if (name === 'primary') part.primary = readPrimary(value)
  }

  return part
}

function readPrimary(value: unknown): boolean {
  const isPrimary = value === null ? false : readBoolean(value)
  if (isPrimary === null) throw invalidValue('primary must be true or false.')

  return isPrimary
}

/** Whether an address meets a condition, such as `type eq "work"`. */
function meets(email: Email, { path, value }: Condition): boolean {
  const isPart = Object.hasOwn(noEmail, path.attribute) && path.sub === null
  const own = isPart ? email[path.attribute as keyof Email] : undefined
  if (typeof own === 'string' && typeof value === 'string')
    return foldCase(own) === foldCase(value)

  return own === value
}

/** Returns the address that conditions describe. */
function describe(conditions: Condition[]): Partial<Email> {
  return readParts(
    Object.fromEntries(conditions.map(({ path, value }) => [path.attribute, value])),
  )
}
