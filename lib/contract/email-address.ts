import { domainToASCII, domainToUnicode } from 'node:url'
import { invalid, invalidEmailMessage } from './errors'
import { cleanEmail } from './typed-text'

const maxLength = 254 // RFC 5321 §4.5.3.1.3, without the angle brackets
const maxLocalBytes = 64
const maxDomainLength = 253 // RFC 1035 §2.3.4, for the domain as text
// Rejects comments, IP addresses and quoted local parts. Sign-up forms reject all three,
// and parsers disagree on them.
const localPart = /^[^\s@<>()[\]\\,;:"\p{C}]+$/u
const hostName =
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * Returns an email address with its domain in ASCII and lower case, or null unless the
 * text is exactly one address.
 */
export function parseEmailAddress(text: string): string | null {
  if (text.length > maxLength) return null

  const [local = '', domain = '', ...rest] = text.split('@')
  if (
    rest.length > 0 ||
    !localPart.test(local) ||
    Buffer.byteLength(local) > maxLocalBytes
  )
    return null

  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null

  const ascii = toAsciiDomain(domain)
  const address = `${local}@${ascii}`

  return ascii !== null && address.length <= maxLength ? address : null
}

/**
 * The forms in which a user's address may be stored. New users are stored with their
 * domain in ASCII.
 */
type EmailForms = [given: string, ascii: string, unicode: string]

/**
 * Returns the forms in which a user’s address may be stored, in lower case. Null unless
 * `text` is one address.
 */
export function emailForms(text: string): EmailForms | null {
  // first, because the conversion maps a capital ẞ to “ss”
  const given = text.toLowerCase()
  const ascii = parseEmailAddress(given)
  return ascii === null ? null : [given, ascii, toUnicode(ascii)]
}

/**
 * Returns the forms in which a typed email address may be stored. Ignores what keyboards
 * and mail programs add. Throws VALIDATION_ERROR unless `text` is one address.
 */
export function parseEmail(text: string): EmailForms {
  const forms = emailForms(cleanEmail(text))
  if (forms === null) throw invalid(['email'], 'invalid_email', invalidEmailMessage)
  return forms
}

/**
 * Returns the domain of a stored email address, in ASCII unless the domain can't be
 * converted.
 */
export function emailDomain(email: string): string {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  return toAsciiDomain(domain) ?? domain
}

/** Converts the ASCII domain of an email address to Unicode. */
export function toUnicode(address: string): string {
  const domain = address.lastIndexOf('@') + 1
  return address.slice(0, domain) + domainInUnicode(address.slice(domain))
}

/**
 * Returns a host name in ASCII (RFC 5891) and lower case. Null if it is invalid or a
 * non-canonical encoding.
 */
export function toAsciiDomain(text: string): string | null {
  // the time of the conversion grows with the square of the length
  if (text.length > maxDomainLength) return null

  // domainToASCII stops at a slash, and decodes %-sequences. Unicode full stops, joiners
  // and emoji are allowed.
  if (/[\0-,/:-@[-`{-\x7F]|[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Join_Control}]/u.test(text))
    return null

  const ascii = domainToASCII(text.toLowerCase()) // first, because the conversion maps a capital ẞ to “ss”
  if (ascii.length > maxDomainLength || !hostName.test(ascii) || /^[\d.]+$/.test(ascii))
    return null

  return domainToASCII(domainInUnicode(ascii)) === ascii ? ascii : null
}

function domainInUnicode(ascii: string): string {
  return domainToUnicode(ascii).toLowerCase() // domainToUnicode returns Cherokee letters in upper case
}

/** Returns a text with A–Z in lower case. Does not convert other letters, because some become ASCII letters. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
