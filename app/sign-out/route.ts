import { ApiError } from '@/lib/contract/errors'
import { route } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log'
import { deletedSessionCookies } from '@/lib/session/cookie'
import { presentedSessionIds } from '@/lib/session/presented'
import { endSessions } from '@/lib/session/revoke'
import { env } from '@/lib/settings/env'

/** Signs out the browser that posts the form. Accepts posts from this site only. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sign-out-page', method: 'POST' },
  async ({ request, setCookies }) => {
    if (!isSameOrigin(request.headers)) throw new ApiError('ORIGIN_REJECTED')
    setCookies(deletedSessionCookies())
    try {
      await endSessions(await presentedSessionIds(request.headers))
    } catch (error) {
      // The user is signed out anyway: the cookies are this browser's only copies of the tokens.
      log.error({ route: 'sign-out-page', cause: describeCause(error) }, 'a session could not be ended')
    }
    return new Response(null, { status: 303, headers: { Location: '/' } })
  },
)

/**
 * Whether the request came from a page of this site. Browsers send `Sec-Fetch-Site`; those before
 * 2023 send only `Origin`. A client without either header is not a browser, so it has no cookie
 * that another site could use.
 */
function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return (headers.get('origin') ?? env().PUBLIC_URL) === env().PUBLIC_URL
}
