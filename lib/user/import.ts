import { emailDomain, emailForms, parseEmailAddress } from '../contract/email-address'
import { cleanEmail } from '../contract/typed-text'
import { mayUsePassword } from '../database/domain-rules'
import { Prisma, type Transaction, transaction } from '../database/prisma'
import { writeEvent } from '../event/record'
import { UsageError } from '../usage-error'
import { isHash, readHash } from './imported-hash'
import { type Columns, isEmailName, readColumns } from './list-columns'
import { findOtherSeparator, nameSeparator, readTable } from './table'

const maxUsers = 50_000 // the size that was tried
const maxProblems = 20
const usersAtOnce = 1_000 // a statement takes a small part of its time limit
const usersPerReport = 10_000
const timeoutMs = 60 * 60_000 // a slow database, over a slow network
const form = 'email,password_hash'

type ImportedUser = { email: string; emailDomain: string; passwordHash: string | null }

/** `ignoredColumns`: the names of the columns that have other data. */
export type UserList = { users: ImportedUser[]; ignoredColumns: string[] }

/**
 * Reads a list of users: a table as in `readTable`, with a column of email addresses and
 * one of bcrypt hashes, in this order or with a header. Throws UsageError, which names
 * wrong lines, columns, separators and encodings.
 */
export function readUsers(bytes: Uint8Array): UserList {
  const { rows, separator } = readTable(bytes, isStart)
  const columns = readColumns(rows[0])
  const listed = columns.names ? rows.slice(1) : rows
  if (listed.length > maxUsers)
    throw new UsageError(`The file has more than ${maxUsers} users: split it.`)

  const users = new Map<string, ImportedUser>()
  const problems: string[] = []

  for (const { line, fields } of listed) {
    try {
      const user = readUser(fields, columns, separator)
      if (users.has(user.email)) throw new UsageError(`${user.email} appears twice`)
      users.set(user.email, user)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      problems.push(`Line ${line}: ${error.message}`)
    }
  }

  if (problems.length > 0) throw new UsageError(nothingAdded(problems))

  return { users: [...users.values()], ignoredColumns: listIgnored(columns) }
}

/** Whether a line is a header that we know, or begins with an email address. */
function isStart(fields: string[]): boolean {
  return fields.some(isEmailName) || readAddress(fields[0] ?? '') !== null
}

function readAddress(text: string): string | null {
  return parseEmailAddress(cleanEmail(text).toLowerCase())
}

/** Reads a row. Throws UsageError with its problem. */
function readUser(fields: string[], columns: Columns, separator: string): ImportedUser {
  const given = fields[columns.email] ?? ''
  const hash = fields[columns.hash] ?? ''
  const isMisquoted = fields.some((field) => field.startsWith('"'))

  // A quote in the wrong place can hide columns and lines. It is in no address and in no
  // hash.
  if (isMisquoted || `${given}${hash}`.includes('"')) throw wrongForm(columns, separator)

  const email = readAddress(given)
  if (email === null) throw new UsageError(explainAddress(fields, columns, separator))
  checkAddress(email)

  const width = Math.max(columns.names?.length ?? 0, 2)
  const hasMore = fields.slice(width).some((field) => field !== '')
  const hidesLine = fields.some((field) => field.includes('\n') && field.includes('@'))
  if (hasMore || hidesLine) throw wrongForm(columns, separator)

  const unnamed = columns.hash === -1 ? fields.findIndex(isHash) : -1
  if (unnamed !== -1)
    throw new UsageError(
      `the column “${columns.names![unnamed]}” has hashes: name it password_hash in the header`,
    )

  const passwordHash = readHash(hash.replace(/\p{DI}/gu, ''))
  return { email, emailDomain: emailDomain(email), passwordHash }
}

function wrongForm({ names }: Columns, separator: string): UsageError {
  const expected = names && names.length > 1 ? names.join(separator) : form
  const quoting = `Put a field that contains ${nameSeparator(separator)} or a line break in double quotes`
  const naming = 'Name other columns in the first line'
  return new UsageError(`not of the form ${expected}. ${names ? quoting : naming}`)
}

function explainAddress(
  fields: string[],
  { email, names }: Columns,
  separator: string,
): string {
  const given = fields[email] ?? ''
  const other = findOtherSeparator(cleanEmail(given), separator)
  if (other && given.includes('@'))
    return `not an email address. It contains ${nameSeparator(other)}, but the separator of the list is ${nameSeparator(separator)}`

  if (!names && fields.some((field) => readAddress(field) !== null))
    return 'not an email address. Name the columns in the first line: email comes first otherwise'

  return 'not an email address, like ada@example.com'
}

/** Throws UsageError if an address can’t be that of a user, because a program changed it. */
function checkAddress(email: string): void {
  if (email.includes('\uFFFD'))
    throw new UsageError('the address has lost a letter (�). Export the list as UTF-8')
  if (email.includes('#ext#@'))
    throw new UsageError(
      'the user principal name of a guest is not an email address. Export the column mail',
    )
}

function listIgnored({ email, hash, names }: Columns): string[] {
  return (names ?? []).filter(
    (name, index) => index !== email && index !== hash && name !== '',
  )
}

/**
 * Adds all users, or throws UsageError if any exists already. Returns the email addresses
 * of those whose domain forbids their password. Calls `report` with the number of users
 * that a long import has added so far.
 */
export async function importUsers(
  users: ImportedUser[],
  report: (added: number) => void,
): Promise<string[]> {
  const batches: ImportedUser[][] = []
  for (let first = 0; first < users.length; first += usersAtOnce)
    batches.push(users.slice(first, first + usersAtOnce))

  async function addAll(tx: Transaction): Promise<string[]> {
    await rejectKnown(batches, tx)

    const unusable: string[] = []
    let added = 0
    for (const batch of batches) {
      unusable.push(...(await addUsers(batch, tx)))
      added += batch.length
      if (added % usersPerReport === 0) report(added)
    }

    await writeEvent(tx, 'users_imported', { count: users.length })

    return unusable.toSorted()
  }

  return transaction(addAll, { timeoutMs })
}

async function rejectKnown(batches: ImportedUser[][], tx: Transaction): Promise<void> {
  const known: string[] = []

  for (const batch of batches) {
    const forms = [...new Set(batch.flatMap(({ email }) => emailForms(email)!))]
    const rows = await tx.$queryRaw<{ email: string }[]>(
      Prisma.sql`SELECT email FROM users WHERE email = ANY (${forms})`,
    )
    known.push(...rows.map(({ email }) => email))
  }

  const problems = known.toSorted().map((email) => `${email} is already a user.`)
  if (problems.length > 0) throw new UsageError(nothingAdded(problems))
}

/** Returns the addresses of the users whose domain forbids their password. */
async function addUsers(users: ImportedUser[], tx: Transaction): Promise<string[]> {
  const [emails, domains, hashes] = [
    users.map(({ email }) => email),
    users.map(({ emailDomain }) => emailDomain),
    users.map(({ passwordHash }) => passwordHash),
  ]

  const added = await tx.$queryRaw<{ email: string; isUnusable: boolean }[]>(Prisma.sql`
    INSERT INTO users (email, email_domain, password_hash)
    SELECT * FROM unnest(${emails}::text[], ${domains}::text[], ${hashes}::text[])
    ON CONFLICT DO NOTHING
    RETURNING email, password_hash IS NOT NULL AND NOT ${mayUsePassword} AS "isUnusable"`)

  if (added.length < users.length)
    throw new UsageError(
      nothingAdded(['Other users were added meanwhile: run the command again.']),
    )

  return added.filter(({ isUnusable }) => isUnusable).map(({ email }) => email)
}

function nothingAdded(problems: string[]): string {
  const more = problems.length - maxProblems
  const shown = [
    ...problems.slice(0, maxProblems),
    ...(more > 0 ? [`… and ${more} more.`] : []),
  ]
  return ['Nothing was imported.', ...shown].join('\n')
}
