import { log } from '@/lib/log'
import { endSession } from '@/lib/session'
import { sessionCookie, sessionTokenOf } from '@/lib/session-token'

/** Ends the session of the browser that posts the form. Another site's form comes without the cookie (SameSite), and so ends nothing. */
export async function POST(request: Request): Promise<Response> {
  const token = sessionTokenOf(request)
  try {
    if (token) await endSession(token)
  } catch (error) {
    // The person leaves all the same: with the cookie goes the only copy of the token that this browser has.
    log.error({ route: 'sign-out', cause: { name: error instanceof Error ? error.name : 'unknown' } }, 'a session could not be ended')
  }
  return new Response(null, { status: 303, headers: { Location: '/', 'Set-Cookie': sessionCookie(''), 'Cache-Control': 'no-store' } })
}
