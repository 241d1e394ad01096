import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/**
 * The parameters that hold secrets. app/_ui/inline/url-secrets.inline.js removes them
 * before any other script runs.
 */
export const secretNames = ['code', 'token'] as const

/**
 * The header with the SHA-256 (hex) of the `token` in a page URL. Code that renders the
 * page gets only this hash.
 */
export const tokenHashHeader = 'x-token-hash'

/**
 * Blanks the secrets in the query of a page, and returns the SHA-256 of its `token`, in
 * hex, or null.
 */
export function hideSecrets(query: URLSearchParams): string | null {
  // As in url-secrets.inline.js: removes characters that no token has. They come from the
  // text around a copied link.
  const token = (query.get('token') ?? '').replace(/[^\w-]/g, '').slice(0, 43)
  for (const name of secretNames)
    if (query.getAll(name).some(Boolean)) query.set(name, '')
  return token ? createHash('sha256').update(token).digest('hex') : null
}

/**
 * Hides secrets in a page's URL from Next.js, which writes URLs into the HTML. Adds a
 * header with the token's hash.
 */
export function hideSecretsOfPage(
  request: Pick<IncomingMessage, 'url' | 'headers'>,
): void {
  delete request.headers[tokenHashHeader]
  const [path = '', ...parts] = (request.url ?? '').split('?')
  if (parts.length === 0 || /^\/api(\/|$)/.test(path)) return

  const query = new URLSearchParams(parts.join('?'))
  const before = query.toString()
  const tokenHash = hideSecrets(query)
  if (tokenHash) request.headers[tokenHashHeader] = tokenHash
  if (query.toString() !== before) request.url = `${path}?${query}`
}
