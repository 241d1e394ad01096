import { describeCause, log } from '@/lib/log'
import { endSession } from '@/lib/session'
import { sessionCookie, sessionTokenOf } from '@/lib/session-token'

/** Ends the session of the browser that posts the form. Another site's form comes without the cookie (SameSite), and so ends nothing and removes none. */
export async function POST(request: Request): Promise<Response> {
  const token = sessionTokenOf(request)
  try {
    if (token) await endSession(token)
  } catch (error) {
    // The person leaves all the same: with the cookie goes the only copy of the token that this browser has.
    log.error({ route: 'sign-out', cause: describeCause(error) }, 'a session could not be ended')
  }
  const headers = { Location: '/', 'Cache-Control': 'no-store', ...(token && { 'Set-Cookie': sessionCookie('') }) }
  return new Response(null, { status: 303, headers })
}
