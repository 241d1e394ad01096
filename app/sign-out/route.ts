import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { env } from '@/lib/env'
import { Refusal } from '@/lib/errors'
import { describeCause, log } from '@/lib/log'
import { endSession } from '@/lib/session'
import { sessionCookie, sessionTokenOf } from '@/lib/session-token'

const route = 'sign-out'

/** Ends the session of the browser that posts the form, from a page of this site only. */
export const POST = apiRoute(route, async (request) => {
  if (!isSameOrigin(request.headers)) throw new Refusal('ORIGIN_REJECTED')
  const token = sessionTokenOf(request)
  try {
    if (token) await endSession(token)
  } catch (error) {
    // The user leaves all the same: with the cookie goes the only copy of the token that this browser has.
    log.error({ route, cause: describeCause(error) }, 'a session could not be ended')
  }
  return new Response(null, { status: 303, headers: { Location: '/', ...(token && { 'Set-Cookie': sessionCookie('') }) } })
})

const reject = methodNotAllowed(route, 'POST')

export { reject as DELETE, reject as GET, reject as HEAD, reject as OPTIONS, reject as PATCH, reject as PUT }

/**
 * Whether a page of this site sent the request. Browsers say so in `Sec-Fetch-Site`; older ones send `Origin` with every POST,
 * which is `null` from our pages because of their referrer policy. A client that sends neither is no browser, and has no
 * cookie that another site could use.
 */
function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return (headers.get('origin') ?? env().PUBLIC_URL) === env().PUBLIC_URL
}
