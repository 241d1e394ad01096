const barred = /^\/(api|sso|sign-out|_next)(\/|$)/

/**
 * Where `?next=` may lead after signing in: a path of this site, rebuilt from its parts. Null for anything that is, or that a browser or a
 * proxy might read as, another site, and for addresses that are no place to land on.
 */
export function nextPath(next: unknown, origin: string): string | null {
  if (typeof next !== 'string' || !next.startsWith('/') || /[\\\p{Cc}]/u.test(next)) return null
  try {
    const { origin: itsOrigin, pathname, search, hash } = new URL(next, origin)
    const readable = decodeURIComponent(pathname)
    if (itsOrigin !== origin || /^\/[/\\]/.test(readable) || barred.test(readable)) return null
    return pathname + search + hash
  } catch {
    return null // no address, or a stray % in it
  }
}
