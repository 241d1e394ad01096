// Finds the columns of a list of users, which the exports of other programs name
// differently and in the language of the user.
import { UsageError } from '../usage-error'
import { isHash } from './imported-hash'
import type { Row } from './table'

/** The indexes of the columns. `hash` is -1 in a table without hashes. */
export type Columns = {
  email: number
  hash: number
  /** The header, or null if the table has none. */
  names: string[] | null
}

const emailNames = fold(
  'email, email address, user email, primary email, work email, email ID, mail, mail address',
  'E-Mail-Adresse, E-Mail-Adressen, Mailadresse', // German
  'adresse e-mail, adresse mail, adresse électronique, courriel, adresse courriel', // French
  'correo, correo electrónico, dirección de correo electrónico, dirección de correo', // Spanish
  'البريد الإلكتروني, عنوان البريد الإلكتروني, بريد إلكتروني',
  'e-mailadres, posta elettronica, indirizzo e-mail, indirizzo email', // Dutch, Italian
  'endereço de e-mail, correio eletrónico, correio eletrônico, adres e-mail', // Portuguese, Polish
  'e-post, e-postadress, e-postadresse, sähköposti, e-posta, электронная почта', // Nordic, Turkish, Russian
  'メールアドレス, メール, 邮箱, 电子邮件, 电子邮箱, 電子郵件, 이메일, 이메일 주소',
)

// Used if no other column has email addresses: of a guest, it is another address.
const loginNames = fold('user principal name, UPN')

const hashNames = fold(
  'password hash, hashed password, encrypted password, password digest, bcrypt, bcrypt hash',
  'password, hash, passwd, pwd, user password, user pass, pass, pw',
  'Passwort, Passwort-Hash, Kennwort, Kennwort-Hash', // German
  'mot de passe, hachage, contraseña, clave, hash de la contraseña', // French, Spanish
  'كلمة المرور, كلمة السر',
  'wachtwoord, parola, senha, hasło, lösenord, пароль, şifre, パスワード, 密码, 비밀번호',
)

/** Whether a text is the name of a column of email addresses. */
export function isEmailName(name: string): boolean {
  const folded = foldName(name)
  return emailNames.has(folded) || loginNames.has(folded)
}

/**
 * Finds the columns by the first row. Without an @, it is a header. Throws UsageError if
 * no column, or more than one, can be that of the email addresses or of the hashes.
 */
export function readColumns(first: Row | undefined): Columns {
  const hasAddress = first?.fields.some((field) => /[@\uFE6B\uFF20]/.test(field))
  if (!first || hasAddress) return { email: 0, hash: 1, names: null }

  const names = dropEmptyEnd(first.fields)
  const addresses = findColumns(names, emailNames)
  const emails = addresses.length > 0 ? addresses : findColumns(names, loginNames)
  const hashes = findColumns(names, hashNames)

  if (emails.length === 0) throw wrongHeader(first, describeStart(names[0]!))
  for (const columns of [emails, hashes])
    if (columns.length > 1) throw wrongHeader(first, describeSeveral(names, columns))

  // a list with the header `email` can have hashes
  const withoutName = names.length === 1 ? 1 : -1
  return { email: emails[0]!, hash: hashes[0] ?? withoutName, names }
}

function wrongHeader({ line }: Row, problem: string): UsageError {
  return new UsageError(
    `Nothing was imported.\nLine ${line}: ${problem}. Name one column email, and one password_hash.`,
  )
}

/** Quotes only the first word, because the line may be a user with a password. */
function describeStart(first: string): string {
  const start = isHash(first) ? 'a hash' : `“${first.split(/[,;:|\t]/)[0]}”`
  return `no column is named email. The line begins with ${start}`
}

function describeSeveral(names: string[], columns: number[]): string {
  const quoted = columns.map((column) => `“${names[column]}”`)
  return `${quoted.join(' and ')} have the same meaning`
}

function findColumns(names: string[], known: Set<string>): number[] {
  return names.flatMap((name, index) => (known.has(foldName(name)) ? [index] : []))
}

function dropEmptyEnd(fields: string[]): string[] {
  return fields.slice(0, fields.findLastIndex((field) => field !== '') + 1)
}

function fold(...lists: string[]): Set<string> {
  return new Set(lists.flatMap((list) => list.split(', ')).map(foldName))
}

/**
 * Returns the letters and digits of a name, without accents, in lower case. Ignores the
 * table in `users.email`, and remarks such as [Required].
 */
function foldName(name: string): string {
  const own = name.replace(/\[.*?\]|\(.*?\)/g, '').replace(/^\w+\.(?=\w)/, '')
  return own
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}
