// Sanitizes requests before Next.js handles them: it trusts headers, paths and bodies that only its
// own code should send.
import { createHash } from 'node:crypto'

const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

const originalMethodHeader = 'x-original-method'
const tokenHashHeader = 'x-token-hash'

/** Forms that work without JavaScript: the only paths outside /api that accept a body. */
const forms = new Set(['/sign-out', '/forgot-password/send'])
/** Each request to these may cost a hash. */
const hashing = new Set(['/api/auth/sign-in', '/api/auth/reset-password'])
/** Every site may read these. */
const openDocuments = new Set(['/.well-known/jwks.json', '/openapi.json'])
/** Outside /api, these respond to other methods themselves. Next.js fails on some of them, or on an aborted one. */
const routes = new Set([...forms, ...openDocuments, '/.well-known/change-password'])
const formBytes = 1_024

// With the first, a client could impersonate Next.js: skip a route, inject text into the log, or
// cause a redirect. The others make Next.js fail on its own files, or parse thousands of ranges.
const internalHeader =
  /^(rsc|purpose|next-.*|x-(action|edge|invoke|matched|middleware|next|nextjs|now|prerender|vercel)-.*)$/
const partialHeader = /^(range|if-(range|match|none-match|modified-since|unmodified-since))$/

const secret = /([?&](?:code|token)=)[^&]*/gi
const urlCharacters = 2_048
const parameters = 32
const headerCharacters = 512
const headerCount = 100
/** The parser of HTTP keeps one header more than are accepted, so that an excess is known. */
export const keptHeaders = headerCount + 1
// The cookies of lib/session/cookie.ts, and that of the language. Next.js would parse thousands of others.
const ownCookie = /(?<=^|; ?)(__Host-)?(session|refresh|browser|known|language)=[^;]*/g
const maxChunks = 256
const tooManyBytes = Buffer.alloc(1024 * 1024)

/**
 * The status and text with which to reject a request, or null. Truncates headers that are expensive
 * to parse.
 */
export function problemOf({ url, headers, rawHeaders, httpVersion }) {
  if (rawHeaders.length / 2 > headerCount) return [431, 'There are too many headers.']
  // The time Next.js needs grows with the square of these.
  if (url.length > urlCharacters || url.split('&', parameters + 1).length > parameters)
    return [414, 'The URL is too long.']
  if (headers.host === undefined && httpVersion === '1.1') return [400, 'The Host header is missing.']
  for (const name of ['user-agent', 'accept-language']) headers[name] &&= headers[name].slice(0, headerCharacters)
  return null
}

/**
 * Limits the number of chunks in a body, because a chunk costs a thousand times as much as a byte.
 * A body with too many chunks is padded to more bytes than any route accepts, so that the route
 * rejects it.
 */
export function limitChunks(request) {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let count = 0
  request.push = (chunk) => {
    if (chunk === null || ++count < maxChunks) return push(chunk)
    if (count === maxChunks) push(tooManyBytes)
    return false // so that no more is read from the socket
  }
}

/** The last entries of a list with commas. The list may have thousands, which are not all read. */
export function lastEntries(list, count) {
  let start = list.length
  for (let found = 0; found < count && start >= 0; found++) start = start > 0 ? list.lastIndexOf(',', start - 1) : -1
  return list.slice(start + 1).trim()
}

/**
 * Removes headers that only Next.js or its platform may send, and those of partial and conditional
 * requests. Our pages load as documents and need none of them.
 */
export function removeHeaders(headers) {
  for (const name of Object.keys(headers))
    if (internalHeader.test(name) || partialHeader.test(name)) delete headers[name]
  if (headers.cookie) headers.cookie = headers.cookie.match(ownCookie)?.join('; ') ?? ''
}

/**
 * Replaces a method that Next.js does not know with one that no route accepts. The log still
 * contains the original (see lib/http/route.ts).
 */
export function replaceUnknownMethod(request) {
  delete request.headers[originalMethodHeader]
  if (knownMethods.has(request.method)) return
  request.headers[originalMethodHeader] = request.method
  request.method = 'DELETE'
}

/**
 * Hands on the SHA-256 of a reset token in the URL, by which the page finds its link (see
 * lib/page/url-secret.ts). For before `plainUrl`, which removes the token.
 */
export function hashToken({ url, headers }) {
  delete headers[tokenHashHeader]
  const token = new URLSearchParams(url.split('?').slice(1).join('?')).get('token')
  if (token) headers[tokenHashHeader] = createHash('sha256').update(token).digest('hex')
}

/**
 * Normalizes the path, removing the host, repeated slashes and dot segments. Otherwise Next.js
 * would redirect, and the Location header would repeat the query with its secret. A path that can't
 * be decoded becomes one that does not exist.
 */
export function plainUrl(url) {
  const [, path, query] = url.replace(/^https?:\/\/[^/?]*/i, '').match(/^([^?]*)(.*)$/s)
  try {
    const { pathname } = new URL(`http://host${`/${path}`.replace(/[\\/]+/g, '/')}`)
    decodeURIComponent(pathname)
    // Only the browser needs the secret in a page's URL (see app/_ui/arrival.js).
    return pathname + (isApi(pathname) ? query : query.replace(secret, '$1'))
  } catch {
    return /^[\\/]+api[\\/]/.test(path) ? '/api/-' : '/-'
  }
}

/**
 * Whether a page of another site loads this as a part of it, or before anybody has followed a link
 * (W3C Fetch Metadata). Not for documents that every site may read.
 */
export function isPartOfOtherSite({ headers }, path) {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || openDocuments.has(path)) return false
  if (headers['sec-purpose'] !== undefined) return true // Chromium calls the site of a prefetch "none"
  return site === 'cross-site' && (headers['sec-fetch-dest'] ?? 'document') !== 'document'
}

/** Whether a body follows the headers (RFC 9112 §6.3). */
export function hasBody({ headers }) {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Whether the body is larger than the path accepts. Routes under /api limit their own bodies. */
export function isBodyTooLarge({ headers }, path) {
  if (isApi(path)) return false
  const bytes =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY
  return !(bytes <= (forms.has(path) ? formBytes : 0))
}

/** Whether a page, or a file, is requested with a method that none of them accepts. */
export function isPageMethodUnknown({ method }, path) {
  return method !== 'GET' && method !== 'HEAD' && !isApi(path) && !routes.has(path)
}

/** Whether a request waits for its body, as one to the API does, instead of rendering. */
export function isWrite({ method }, path) {
  return method !== 'GET' && method !== 'HEAD' && (isApi(path) || forms.has(path))
}

/** How admission.mjs counts a request to a route. */
export function kindOfRoute(request, path) {
  if (!isWrite(request, path)) return 'read'
  return hashing.has(path.replace(/\/$/, '')) ? 'password' : 'write'
}

/** Whether a body may have 350 KB: a form for a SAML connection. */
export function isLargeForm(path) {
  return /^\/api\/auth\/sso\/[^/]+\/acs\/?$/.test(path)
}

function isApi(path) {
  return path === '/api' || path.startsWith('/api/')
}
