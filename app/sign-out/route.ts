import { ApiError } from '@/lib/contract/errors'
import { route } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log'
import { sessionCookie, sessionTokenOf } from '@/lib/session/cookie'
import { endSession } from '@/lib/session/revoke'
import { env } from '@/lib/settings/env'

/** Signs out the browser that posts the form. Accepts posts from this site only. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sign-out', method: 'POST' },
  async ({ request }) => {
    if (!isSameOrigin(request.headers)) throw new ApiError('ORIGIN_REJECTED')
    const token = sessionTokenOf(request)
    try {
      if (token) await endSession(token)
    } catch (error) {
      // The user is signed out anyway: the cookie is this browser's only copy of the token.
      log.error({ route: 'sign-out', cause: describeCause(error) }, 'a session could not be ended')
    }
    return new Response(null, {
      status: 303,
      headers: { Location: '/', ...(token && { 'Set-Cookie': sessionCookie('') }) },
    })
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
