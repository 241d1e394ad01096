// What of a request reaches Next.js: it trusts headers, paths and bodies that only its own parts should send.

const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Our forms that work without a script. They are the only paths outside /api that accept a body. */
const forms = new Set(['/sign-out'])
const formBytes = 1_024

// With these a client could be taken for Next.js itself: skip a route, have a text of its own logged, or be redirected.
const internalHeader = /^(rsc|purpose|next-.*|x-(action|edge|invoke|matched|middleware|next|nextjs|now|prerender|vercel)-.*)$/

/** Removes the headers that only Next.js or its platform may send. Pages of ours load as documents, so none is missed. */
export function removeInternalHeaders(headers) {
  for (const name of Object.keys(headers)) if (internalHeader.test(name)) delete headers[name]
}

/** A method that Next.js does not know becomes one that no route accepts. */
export function plainMethod(method) {
  return knownMethods.has(method) ? method : 'DELETE'
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
    return pathname + query
  } catch {
    return /^[\\/]+api[\\/]/.test(path) ? '/api/-' : '/-'
  }
}

/** Whether a request brings a larger body than its path accepts. Routes under /api read, and bound, their own. */
export function bringsTooMuch({ headers }, path) {
  if (path === '/api' || path.startsWith('/api/')) return false
  const bytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY
  return !(bytes <= (forms.has(path) ? formBytes : 0))
}
