import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hideSecretsOfPage } from '../../lib/http/hide-secrets'
import { cookieNames } from '../../lib/session/cookie-names'

const methods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
/**
 * Only Next.js or Vercel may send these headers, which skip a route, change its path, or
 * select its response.
 */
const internalHeader =
  /^(rsc|purpose|next-.*|x-(action|edge|invoke|matched|middleware|next|nextjs|now|prerender|vercel)-.*)$/
/** Our cookies. Cookies of other apps are not passed to Next.js. */
const ownCookie = new RegExp(
  `(?<=^|; ?)(__Host-)?(${[...cookieNames, 'language'].join('|')})=[^;]*`,
  'g',
)

/**
 * Returns the status and the text that reject a request whose URL Next.js must not
 * receive, or null.
 */
export function findProblem({
  url = '',
  headers,
}: IncomingMessage): [number, string] | null {
  if (isTooLong(url) && !headers.accept?.includes('text/html'))
    return [414, 'The URL is too long.']

  // Next.js would respond with 500
  if (!canDecodePath(url)) return [400, 'The path of the URL is malformed.']

  return null
}

function isTooLong(url: string): boolean {
  return url.length > 8 * 1024 || url.split('&', 101).length > 100
}

function canDecodePath(url: string): boolean {
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '')
    return true
  } catch {
    return false
  }
}

/**
 * Changes a request to what Next.js may receive. In development, keeps the headers for
 * hot reload.
 */
export function sanitizeRequest(request: IncomingMessage, dev: boolean): void {
  const { url = '', headers } = request
  if (isTooLong(url)) request.url = '/long-url' // app/_proxy/respond.ts responds with a page
  if (!methods.has(request.method ?? '')) request.method = 'DELETE' // Next.js fails on other methods

  hideSecretsOfPage(request)

  if (!dev) removeForeignHeaders(headers)

  // Next.js compresses responses of every size. Those of the API are small, and have
  // secrets.
  if (url.startsWith('/api/')) delete headers['accept-encoding']
}

function removeForeignHeaders(headers: IncomingHttpHeaders): void {
  for (const name in headers) if (internalHeader.test(name)) delete headers[name]

  const { cookie } = headers
  if (cookie) headers.cookie = cookie.match(ownCookie)?.join('; ') ?? ''
}
