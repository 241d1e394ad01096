import { lifetimes } from '../contract/lifetimes'
import { readCookie, setCookie } from '../session/cookie'

/**
 * What the provider must ask for: another account (after one without access), or a new
 * login (after a sign-out).
 */
export type Ask = 'account' | 'login'

// providers' sessions last for weeks
const askSeconds = { account: lifetimes.signIn, login: 90 * 24 * 60 * 60 }
const maxAddressLength = 254
const again = 'sign-in-began-again'

/** An account that had no access, and the slug of the connection that sent it. */
type Rejected = { account: string | undefined; connection: string }

/**
 * Returns the cookie for the next start of a sign-in. Null deletes it. Stores the account
 * if it is an email address.
 */
export function createAskCookie(ask: Ask | null, rejected?: Rejected): string {
  if (ask === null) return setCookie('ask', '', 0)

  const { account = '', connection } = rejected ?? {}
  const address = isAddress(account) ? Buffer.from(account).toString('base64url') : ''
  const parts = [`ask-${ask}`, address]
  if (connection) parts.push(connection)

  return setCookie('ask', parts.join('.'), askSeconds[ask])
}

/**
 * Returns what the next start asks for, the address that had no access, and the slug of
 * its connection. Each can be null.
 */
export function readAsk(headers: Headers): {
  ask: Ask | null
  address: string | null
  connection: string | null
} {
  const cookie = readCookie(headers, 'ask') ?? ''
  const [, ask = null, account = '', connection = null] =
    /^ask-(account|login)\.([\w-]*)(?:\.([a-z0-9-]+))?$/.exec(cookie) ?? []

  const address = Buffer.from(account, 'base64url').toString()

  return {
    ask: ask as Ask | null,
    address: isAddress(address) ? address : null,
    connection,
  }
}

/**
 * Whether a text is an address that is safe to show: it has no white space, and nothing
 * that changes its direction.
 */
function isAddress(text: string): boolean {
  return text.length <= maxAddressLength && /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(text)
}

/** Whether this browser has a restarted sign-in that has not ended yet. */
export function hasBegunAgain(headers: Headers): boolean {
  return readCookie(headers, 'again') === again
}

/** Returns the `Set-Cookie` value that stores whether a sign-in was restarted. */
export function createAgainCookie(has: boolean): string {
  return has ? setCookie('again', again, lifetimes.signIn) : setCookie('again', '', 0)
}
