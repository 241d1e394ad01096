import { parse } from 'csv-parse/sync'
import { emailDomain, emailForms, parseEmailAddress } from '../contract/email-address'
import { mayUsePassword } from '../database/conditions'
import { transaction } from '../database/prisma'
import { UsageError } from '../usage-error'

const maxUsers = 50_000 // more would exceed the time limit of a transaction
const maxProblems = 20
const bcryptHash = /^\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/
const header = 'email,password_hash'
const headers = ['email', header]

type ImportedUser = { email: string; emailDomain: string; passwordHash: string | null }

/**
 * Reads CSV (RFC 4180) of `email` or `email,password_hash` (bcrypt). Throws UsageError,
 * which names wrong lines.
 */
export function readUsers(csv: string): ImportedUser[] {
  const users = new Map<string, ImportedUser>()
  const problems: string[] = []

  for (const { line, fields } of readRecords(csv)) {
    if (line === 1 && headers.includes(fields.join().toLowerCase())) continue
    const wrong = (problem: string) => problems.push(`Line ${line}: ${problem}`)
    const [given = '', hash = ''] = fields
    const email = parseEmailAddress(given.toLowerCase())

    // a quote is in no address and in no hash: it is in the wrong place
    if (fields.length > 2 || fields.join().includes('"'))
      wrong(`not of the form ${header}`)
    else if (!email) wrong('not an email address, like ada@example.com')
    else if (users.has(email)) wrong(`${email} appears twice`)
    else if (hash && !bcryptHash.test(hash))
      wrong('the hash is not a bcrypt hash with $2a$, $2b$ or $2y$ and a cost of 4 to 14')
    else
      users.set(email, {
        email,
        emailDomain: emailDomain(email),
        passwordHash: hash || null,
      })
  }

  if (users.size > maxUsers)
    throw new UsageError(`The file has more than ${maxUsers} users: split it.`)
  if (problems.length > 0) throw new UsageError(nothingAdded(problems))

  return [...users.values()]
}

/** Returns the records that are not blank, with the numbers of their first lines. */
function readRecords(csv: string): { line: number; fields: string[] }[] {
  const records: { line: number; fields: string[] }[] = []
  let line = 1

  parse(csv, {
    bom: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true, // otherwise, a quote in the wrong place would hide later lines
    skip_records_with_error: true,
    on_record: (fields: string[], { lines }) => {
      records.push({ line, fields: fields.map((field) => field.trim()) })
      line = lines + 1
    },
    on_skip: () => void records.push({ line, fields: ['"'] }), // no closing quote
  })

  return records.filter(({ fields }) => fields.length > 1 || fields[0] !== '')
}

/**
 * Adds all users, or throws UsageError if any exists already. Returns those whose domain
 * forbids their password.
 */
export async function importUsers(users: ImportedUser[]): Promise<string[]> {
  const forms = users.flatMap(({ email }) => emailForms(email)!)
  return transaction(async (tx) => {
    const emails = users.map(({ email }) => email)
    const known = await tx.$queryRaw<{ email: string }[]>`
      SELECT email FROM users WHERE email = ANY (${forms}) ORDER BY email`
    if (known.length > 0)
      throw new UsageError(
        nothingAdded(known.map(({ email }) => `${email} is already a user.`)),
      )

    await tx.user.createMany({ data: users })
    const unusable = await tx.$queryRaw<{ email: string }[]>`
      SELECT email FROM users
      WHERE email = ANY (${emails}) AND password_hash IS NOT NULL AND NOT ${mayUsePassword} ORDER BY email`

    return unusable.map(({ email }) => email)
  })
}

function nothingAdded(problems: string[]): string {
  const more = problems.length - maxProblems
  const shown = [
    ...problems.slice(0, maxProblems),
    ...(more > 0 ? [`… and ${more} more.`] : []),
  ]
  return ['Nothing was imported.', ...shown].join('\n')
}
