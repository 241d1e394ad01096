import { pickSoleAddress } from '../email'
import { trimXml } from './xml'

const usualNames = [
  ...[
    'mail',
    'email',
    'emailaddress',
    'email_address',
    'e-mail',
    'user.email',
    'user.mail',
  ],
  'urn:oid:0.9.2342.19200300.100.1.3', // mail
  'urn:oid:1.2.840.113549.1.9.1', // emailAddress
  'urn:mace:dir:attribute-def:mail', // Shibboleth 1.3
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress', // Entra ID, ADFS
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/email',
  'http://schemas.xmlsoap.org/claims/emailaddress', // ADFS 1
]

/** Whether the setting `emailAttribute` stands for the NameID. */
export function isNameId(configured?: string): boolean {
  return configured?.toLowerCase() === 'nameid'
}

type Attribute = [name: string, values: string[]]
type NameId = { text: string; isEmail: boolean }

/**
 * Returns the address in `configured` (attribute or NameID). Without it, uses the usual
 * ones. Throws SignInRejected.
 */
export function readEmail(
  attributes: Iterable<Attribute>,
  nameId: NameId,
  configured?: string,
): string {
  const wanted = configured ? [configured.toLowerCase()] : usualNames

  const pairs = [...attributes].flatMap(([name, texts]) =>
    texts.map((text) => [name, trimXml(text)] as const),
  )

  const isGiven = ([name, text]: (typeof pairs)[number]) =>
    wanted.includes(trimXml(name).toLowerCase()) && text !== ''
  const given = pairs.filter(isGiven).map(([, text]) => text)

  const usesNameId = configured
    ? isNameId(configured)
    : given.length === 0 && nameId.isEmail
  const values = usesNameId ? [nameId.text] : given

  return pickSoleAddress(values, [nameId.text, ...pairs.map(([, text]) => text)])
}
