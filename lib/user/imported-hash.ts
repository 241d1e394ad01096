// Reads the password hashes of other programs.
import { UsageError } from '../usage-error'

const bcryptHash = /^\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/

// how databases export the absence of a value
const noHash = /^(null|\\n)?$/i

// Spring: {bcrypt}$2a$…; Django: bcrypt$$2b$…
const bcryptPrefix = /^(\{bcrypt\}|bcrypt\$)(?=\$2)/

// Prefixes that an error may quote, because no password begins like this.
const algorithm =
  '(?:argon2|[bs]?crypt|pbkdf2|phpass|scram|hmac|md[45]|sm3|s?sha\\d*|apr1|wp)'
const prefixes = [
  `\\{(?:noop|plain|cleartext|ldap|[\\w-]*${algorithm}[\\w.@-]*)\\}`, // Spring, LDAP: {SSHA}…
  `(?:unsalted_)?${algorithm}(?:[_-](?:sha|md5|php)[\\w-]*)?[$:]`, // Django, Werkzeug: pbkdf2_sha256$…
  `\\$(?:\\w{1,2}|${algorithm}[\\w-]*)\\$`, // crypt(3), passlib: $argon2id$…, $6$…
]
const prefix = new RegExp(`^(?:${prefixes.join('|')})`, 'i')

/**
 * Returns a bcrypt hash without the prefix of Spring or Django, or null for a user without
 * a password. Throws UsageError, which quotes no part of a password or a hash.
 */
export function readHash(text: string): string | null {
  if (noHash.test(text)) return null

  const hash = text.replace(bcryptPrefix, '')
  if (bcryptHash.test(hash)) return hash

  throw new UsageError(explain(hash))
}

/** Whether a text begins like the hash of a password. */
export function isHash(text: string): boolean {
  return prefix.test(text)
}

function explain(hash: string): string {
  const name = prefix.exec(hash)?.[0]
  const wanted = 'a bcrypt hash with $2a$, $2b$ or $2y$ and a cost of 4 to 14'

  if (name === undefined)
    return `the hash is not ${wanted}. Leave it empty for a user without a password`
  if (!/^\$2[aby]\$$/.test(name))
    return `the hash begins with ${name}, so it is not ${wanted}. Leave it empty, and let the user choose a new password`

  const [, , cost = ''] = hash.split('$')
  if (/^(0[0-3]|1[5-9]|[23]\d)$/.test(cost))
    return `the hash has the cost ${cost}, so it is not ${wanted}`

  return `the hash is not ${wanted}: after the cost and $, it must have 53 letters, digits, dots and slashes`
}
