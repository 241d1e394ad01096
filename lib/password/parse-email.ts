import { parseEmailAddress } from '../contract/email-address'
import { invalid } from '../contract/errors'

/**
 * Returns the forms in which the e-mail address of a user may be stored: as given, and with its
 * domain in ASCII. Throws VALIDATION_ERROR unless the text is exactly one address.
 */
export function parseEmail(text: string): [given: string, ascii: string] {
  const given = text.trim().toLowerCase() // before the conversion, which maps a capital ẞ to “ss”
  const ascii = parseEmailAddress(given)
  if (ascii === null) throw invalid(['email'], 'invalid_email', 'Enter one e-mail address, like name@example.com.')
  return [given, ascii]
}
