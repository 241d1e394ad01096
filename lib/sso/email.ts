import { foldCase } from '../contract/email-address'
import { SignInRejected } from './rejection'

/**
 * Returns the only address in `given`, ignoring case (A–Z). Without any address, `others`
 * decide the rejection.
 */
export function pickSoleAddress(given: string[], others: string[]): string {
  const [address, another] = new Map(given.map((text) => [foldCase(text), text])).values()
  if (another !== undefined) throw new SignInRejected('email_several', 'no_access')
  if (address !== undefined) return address

  const isElsewhere = others.some((text) => /^[^\s@]+@[^\s@]+$/.test(text))
  throw new SignInRejected(isElsewhere ? 'email_elsewhere' : 'email_missing', 'no_access')
}
