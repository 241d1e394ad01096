import { ApiError } from '@/lib/contract/errors'
import { route } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log'
import { sessionCookie, sessionTokenOf } from '@/lib/session/cookie'
import { endSession } from '@/lib/session/revoke'
import { env } from '@/lib/settings/env'

/** Ends the session of the browser that posts the form, from a page of this site only. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sign-out', method: 'POST' },
  async ({ request }) => {
    if (!isSameOrigin(request.headers)) throw new ApiError('ORIGIN_REJECTED')
    const token = sessionTokenOf(request)
    try {
      if (token) await endSession(token)
    } catch (error) {
      // The user leaves all the same: with the cookie goes the only copy of the token that this browser has.
      log.error({ route: 'sign-out', cause: describeCause(error) }, 'a session could not be ended')
    }
    return new Response(null, {
      status: 303,
      headers: { Location: '/', ...(token && { 'Set-Cookie': sessionCookie('') }) },
    })
  },
)

/**
 * Whether a page of this site sent the request. Browsers say so in `Sec-Fetch-Site`; those before 2023 send `Origin` only. A client
 * that sends neither is no browser, and has no cookie that another site could use.
 */
function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return (headers.get('origin') ?? env().PUBLIC_URL) === env().PUBLIC_URL
}
