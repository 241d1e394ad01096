import { parseEmailAddress } from '../contract/email-address'
import type { Attributes } from './attributes'
import { ScimError } from './error'

/**
 * Returns the address of a user in one of these domains, in lower case: the primary one,
 * or else the one at work, the first one, or the user name. Null if none is in a domain.
 */
export function chooseAddress(
  { userName, emails }: Attributes,
  domains: string[],
): string | null {
  const candidates = [
    emails.find(({ primary }) => primary)?.value,
    emails.find(({ type }) => type?.toLowerCase() === 'work')?.value,
    emails[0]?.value,
    userName,
  ]

  for (const candidate of candidates) {
    const address = readAddress(candidate ?? '')
    const domain = address?.slice(address.lastIndexOf('@') + 1)
    if (address && domains.includes(domain!)) return address
  }

  return null
}

/** ASCII only, as at a first sign-in (lib/sso/identity.ts). */
function readAddress(text: string): string | null {
  const address = parseEmailAddress(text.trim())
  return address && !/[^ -~]/.test(address) ? address.toLowerCase() : null
}

/** Returns the error for a user without an address in a live domain of the connection. */
export function outsideDomains({ userName, emails }: Attributes): ScimError {
  const texts = [...emails.map(({ value }) => value), userName]
  const address = texts.map((text) => parseEmailAddress(text?.trim() ?? '')).find(Boolean)
  const detail = address
    ? `${address.slice(address.lastIndexOf('@') + 1)} isn’t an active domain of this connection.`
    : 'The user has no email address in an active domain of this connection.'

  return new ScimError(400, 'scim_domain', detail, 'invalidValue')
}
