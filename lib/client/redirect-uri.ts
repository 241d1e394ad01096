import { isLoopback } from '../settings/loopback'
import { UsageError } from '../usage-error'

const maxLength = 2_048

/**
 * Throws UsageError unless a client may be registered with this redirect URI (RFC 6749
 * §3.1.2): an absolute URL with https, or http on this machine, exactly as `URL` writes
 * it, and not on `ownOrigin`, the origin of this service.
 */
export function demandRedirectUri(text: string, ownOrigin: string): void {
  if (text.length > maxLength)
    throw new UsageError(`A redirect URI has at most ${maxLength} characters.`)
  if (!URL.canParse(text) || !/^https?:/i.test(text))
    throw new UsageError(
      `“${text}” is not a redirect URI, like https://app.example.com/callback.`,
    )

  const { href, origin, protocol, hostname, username, password } = new URL(text)
  if (username || password)
    // not in the error, because it can contain a password
    throw new UsageError('A redirect URI must not have a user name or a password.')
  if (text.includes('*'))
    throw new UsageError(`“${text}” has a wildcard: add each redirect URI separately.`)
  if (text.includes('#')) throw new UsageError(`“${text}” must not have a fragment.`)
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new UsageError(
      `“${text}” must begin with https://. Only localhost may use http://.`,
    )
  if (origin === ownOrigin)
    throw new UsageError(
      `“${text}” is on the origin of this service, where pages use the session cookie.`,
    )
  if (href !== text)
    throw new UsageError(`“${text}” is not exactly what clients send: use ${href}`)
}

/**
 * Returns whether a client may use a redirect URI. URIs are compared as text (RFC 9700
 * §2.1). Only the port of a public client may differ, on a loopback IP address (RFC 8252
 * §7.3).
 */
export function isRegistered(
  { isPublic, redirectUris }: { isPublic: boolean; redirectUris: string[] },
  uri: string,
): boolean {
  if (redirectUris.includes(uri)) return true
  if (!isPublic) return false

  const portless = removeLoopbackPort(uri)
  if (portless === null) return false

  return redirectUris.some((registered) => removeLoopbackPort(registered) === portless)
}

/** Returns null unless the host is a loopback IP address. `localhost` is none (§8.3). */
function removeLoopbackPort(uri: string): string | null {
  const [, host, rest] =
    /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/.*)$/.exec(uri) ?? []
  return host === undefined ? null : `${host}${rest}`
}

/** Adds parameters to the query of a URI, whose own query stays as it is. */
export function addParameters(uri: string, parameters: Record<string, string>): string {
  // not URLSearchParams, because it encodes a space as a plus sign, which some clients do
  // not decode
  const query = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  if (!query) return uri

  return `${uri}${uri.includes('?') ? '&' : '?'}${query}`
}

type Nearest = { uri: string; differences: string[] }

/**
 * Returns the registered redirect URI that differs least from a URI, and in what it
 * differs, for an operator. Null if there is none, or if the URI is not absolute.
 */
export function findNearest(uri: string, redirectUris: string[]): Nearest | null {
  const nearest = redirectUris
    .map((registered) => ({
      uri: registered,
      differences: compareUris(uri, registered),
    }))
    .filter(({ differences }) => differences.length > 0)
    .toSorted((one, other) => weigh(one) - weigh(other))

  return nearest[0] ?? null
}

const parts = [
  'the scheme',
  'the host',
  'the port',
  'the path',
  'the query',
  'the fragment',
]
const slash = 'the slash at the end'
const letterCase = 'the letter case'

/** Returns the parts of two URIs that differ. Does not normalize them, as `URL` would. */
function compareUris(one: string, other: string): string[] {
  const [ones, others] = [splitUri(one), splitUri(other)]
  if (!ones || !others) return []

  const differences = parts.flatMap((part, index) => {
    const [text, otherText] = [ones[index]!, others[index]!]
    const [path, otherPath] = [removeSlash(text), removeSlash(otherText)]
    if (path.toLowerCase() !== otherPath.toLowerCase()) return part

    const slips = []
    if (path !== otherPath) slips.push(letterCase)
    if (text.length !== otherText.length) slips.push(slash)
    return slips
  })

  return [...new Set(differences)]
}

function splitUri(uri: string): string[] | null {
  const found =
    /^([a-z][a-z\d+.-]*):\/\/([^/?#]*?)(?::(\d*))?(\/[^?#]*)?(\?[^#]*)?(#.*)?$/i.exec(uri)
  return found?.slice(1).map((part) => part ?? '') ?? null
}

function removeSlash(path: string): string {
  return path.replace(/\/$/, '')
}

/** A slash or a letter case is probably a slip, so it counts half. */
function weigh({ differences }: Nearest): number {
  const slips = differences.filter((part) => part === slash || part === letterCase)
  return 2 * differences.length - slips.length
}
