import { trimmed } from './xml'

const names = [
  'mail',
  'email',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
]
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
// ASCII only: other letters can look like another address, or become one in lower case.
const plainAddress = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${label}(?:\\.${label})*$`)

/**
 * Returns the e-mail address in lower case, from the configured attribute; or else from the usual
 * ones, or, without any of them, from a NameID that is an address. Ignores white space around values,
 * and empty values. Undefined unless there is exactly one value, except for its letter case, and it
 * is a plain address.
 */
export function emailOf(
  attributes: Map<string, string[]>,
  { attribute, nameId }: { attribute: string | undefined; nameId: string | undefined },
): string | undefined {
  const found = (attribute ? [attribute] : names).flatMap((name) => attributes.get(name) ?? [])
  const given = found.map(trimmed).filter((value) => value !== '')
  const values = given.length === 0 && nameId && !attribute ? [nameId] : given
  if (!values.every((value) => value.length <= 254 && plainAddress.test(value))) return undefined
  const [address, another] = new Set(values.map((value) => value.toLowerCase()))
  return another === undefined ? address : undefined
}
