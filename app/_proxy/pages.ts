import { readCookie } from '@/lib/session/cookie'

type Page = {
  /** Browsers before 2023 send the origin of a form only with a referrer. */
  hasForm?: true
  /** A request to another host, such as www, is redirected to PUBLIC_URL. */
  isAtPublicHost?: true
  /** Whether the page can't be rendered without the database. */
  needsDatabase?: (headers: Headers) => boolean
}

/** What the proxy has to know of a page. */
const pages: Record<string, Page> = {
  '/': { hasForm: true, needsDatabase: hasSessionCookie },
  '/account': { hasForm: true, needsDatabase: hasSessionCookie },
  '/account/passkey': { needsDatabase: hasSessionCookie },
  '/forgot-password': { hasForm: true, isAtPublicHost: true },
  '/setup': { hasForm: true, needsDatabase: hasSetupCookie },
  '/sign-in': { isAtPublicHost: true, needsDatabase: () => true },
}

/** Returns what the proxy has to know of the page with this path. */
export function findPage(path: string): Page {
  return Object.hasOwn(pages, path) ? pages[path]! : {}
}

/** Whether the browser has cookies of a session, which may have ended. */
export function hasSessionCookie(headers: Headers): boolean {
  return Boolean(readCookie(headers, 'session') ?? readCookie(headers, 'refresh'))
}

/** Whether the browser has opened a setup link. */
function hasSetupCookie(headers: Headers): boolean {
  return readCookie(headers, 'setup') !== null
}
