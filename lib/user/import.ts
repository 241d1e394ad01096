import { emailDomain, emailForms, parseEmailAddress } from '../contract/email-address'
import { mayUsePassword } from '../database/conditions'
import { transaction } from '../database/transaction'
import { UsageError } from '../usage-error'

const maxUsers = 50_000 // more would exceed the time limit of a transaction
const maxProblems = 20
const bcryptHash = /^\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/
const header = 'email,password_hash'

type ImportedUser = { email: string; emailDomain: string; passwordHash: string | null }

/**
 * Reads CSV (RFC 4180) of `email` or `email,password_hash` (bcrypt). Throws UsageError,
 * which names wrong lines.
 */
export function readUsers(csv: string): ImportedUser[] {
  const users = new Map<string, ImportedUser>()
  const problems: string[] = []
  const lines = csv.replace(/^\uFEFF/, '').split(/\r?\n/)

  for (const [index, line] of lines.entries()) {
    const wrong = (problem: string) => problems.push(`Line ${index + 1}: ${problem}`)
    const fields = /^("?)([^",]*)\1(?:,("?)([^",]*)\3)?$/.exec(line)
    const [given = '', hash = ''] = [fields?.[2], fields?.[4]].map((field) =>
      field?.trim(),
    )

    if (
      line.trim() === '' ||
      (index === 0 && [header, 'email'].includes(line.replaceAll('"', '').toLowerCase()))
    )
      continue

    const email = parseEmailAddress(given.toLowerCase())
    if (!fields) wrong(`not of the form ${header}`)
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
