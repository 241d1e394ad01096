import { foldCase } from '../contract/email-address'
import { SignInRejected } from './rejection'

/**
 * Returns the email address that a provider sent, perhaps several times with another case of A–Z. `others` are texts
 * under other names, of which one may be an address. Throws SignInRejected.
 */
export function soleAddress(given: string[], others: string[]): string {
  const [address, another] = new Map(given.map((text) => [foldCase(text), text])).values()
  if (another !== undefined) throw new SignInRejected('email_several', 'no_access')
  if (address !== undefined) return address
  const isElsewhere = others.some((text) => /^[^\s@]+@[^\s@]+$/.test(text))
  throw new SignInRejected(isElsewhere ? 'email_elsewhere' : 'email_missing', 'no_access')
}
