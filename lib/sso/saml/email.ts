import { foldCase } from '../../contract/email-address'
import { trimmed } from './xml'

/** The usual names of the attribute, in lower case. */
const names = [
  'mail',
  'email',
  'emailaddress',
  'email_address',
  'e-mail',
  'user.email',
  'user.mail',
  'urn:oid:0.9.2342.19200300.100.1.3', // mail
  'urn:oid:1.2.840.113549.1.9.1', // emailAddress
  'urn:mace:dir:attribute-def:mail', // Shibboleth 1.3
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress', // Entra ID, ADFS
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/email',
  'http://schemas.xmlsoap.org/claims/emailaddress', // ADFS 1
]
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
// ASCII only: other letters can look like another address, or become one in lower case.
const plainAddress = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${label}(?:\\.${label})*$`)
const isPlain = (text: string) => text.length <= 254 && plainAddress.test(text)

/** The email address of a user, in lower case, or why there is none. */
export type SamlEmail = {
  email?: string
  emailProblem?: 'email_missing' | 'email_elsewhere' | 'email_several' | 'email_malformed'
}

/**
 * Returns the e-mail address from the configured attribute, which may be NameID; or else from the
 * usual ones, or, without any of them, from a NameID whose format is that of an address. Ignores the
 * letter case of names, white space around values, and empty values.
 */
export function emailOf(
  attributes: Map<string, string[]>,
  nameId: { text: string; isEmail: boolean },
  configured?: string,
): SamlEmail {
  const usesNameId = configured?.toLowerCase() === 'nameid'
  const wanted = configured ? [configured.toLowerCase()] : names
  const isWanted = (name: string) => wanted.includes(trimmed(name).toLowerCase())
  const found = [...attributes].flatMap(([name, texts]) => (isWanted(name) ? texts : []))
  const given = found.map(trimmed).filter((text) => text !== '')
  const values = usesNameId || (given.length === 0 && nameId.isEmail && !configured) ? [nameId.text] : given
  if (values.length === 0) {
    const isElsewhere = [nameId.text, ...[...attributes.values()].flat()].some((text) => isPlain(trimmed(text)))
    return { emailProblem: isElsewhere ? 'email_elsewhere' : 'email_missing' }
  }
  if (!values.every(isPlain)) return { emailProblem: 'email_malformed' }
  const [email, another] = new Set(values.map(foldCase))
  return another === undefined ? { email: email! } : { emailProblem: 'email_several' }
}
