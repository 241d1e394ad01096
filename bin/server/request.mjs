// What of a request reaches Next.js: it trusts headers, paths and bodies that only its own parts should send.

const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

const originalMethodHeader = 'x-original-method'

/** Our forms that work without a script. They are the only paths outside /api that accept a body. */
const forms = new Set(['/sign-out'])
const formBytes = 1_024

// With these a client could be taken for Next.js itself: skip a route, have a text of its own logged, or be redirected.
const internalHeader =
  /^(rsc|purpose|next-.*|x-(action|edge|invoke|matched|middleware|next|nextjs|now|prerender|vercel)-.*)$/

const secret = /([?&](?:code|token)=)[^&]*/gi
const urlCharacters = 2_048
const parameters = 32
const headerCharacters = 512
const pieces = 256

/** The status and the text for a request that nobody handles, or null. Cuts headers that are costly to read. */
export function problemOf({ url, headers, httpVersion }) {
  // Next.js takes a time that grows with the square of these.
  if (url.length > urlCharacters || url.split('&', parameters + 1).length > parameters)
    return [414, 'The URL is too long.']
  if (headers.host === undefined && httpVersion === '1.1') return [400, 'The Host header is missing.']
  for (const name of ['user-agent', 'accept-language']) headers[name] &&= headers[name].slice(0, headerCharacters)
  return null
}

/**
 * Bounds in how many pieces a chunked body may arrive, because each costs a thousand times what its byte does. One in more pieces
 * becomes one of more bytes than any route reads.
 */
export function boundPieces(request) {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let count = 0
  request.push = (piece) => {
    if (piece === null || ++count < pieces) return push(piece)
    if (count === pieces) push(Buffer.alloc(1024 * 1024))
    return true
  }
}

/** Removes the headers that only Next.js or its platform may send. Pages of ours load as documents, so none is missed. */
export function removeInternalHeaders(headers) {
  for (const name of Object.keys(headers)) if (internalHeader.test(name)) delete headers[name]
}

/** Replaces a method that Next.js does not know by one that no route accepts. The log still tells the original (see lib/http/route.ts). */
export function replaceUnknownMethod(request) {
  delete request.headers[originalMethodHeader]
  if (knownMethods.has(request.method)) return
  request.headers[originalMethodHeader] = request.method
  request.method = 'DELETE'
}

/**
 * The path and query as Next.js accepts them without a redirect, which would repeat the query: without host, doubled slashes and
 * dot segments. A path that can't be decoded becomes one that does not exist.
 */
export function plainUrl(url) {
  const [, path, query] = url.replace(/^https?:\/\/[^/?]*/i, '').match(/^([^?]*)(.*)$/s)
  try {
    const { pathname } = new URL(`http://host${`/${path}`.replace(/[\\/]+/g, '/')}`)
    decodeURIComponent(pathname)
    // A secret in the URL of a page concerns the browser alone (see app/_ui/arrival.js).
    return pathname + (isApi(pathname) ? query : query.replace(secret, '$1'))
  } catch {
    return /^[\\/]+api[\\/]/.test(path) ? '/api/-' : '/-'
  }
}

/** Whether a request brings a larger body than its path accepts. Routes under /api read, and bound, their own. */
export function bringsTooMuch({ headers }, path) {
  if (isApi(path)) return false
  const bytes =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY
  return !(bytes <= (forms.has(path) ? formBytes : 0))
}

function isApi(path) {
  return path === '/api' || path.startsWith('/api/')
}
