import { endSession, sessionCookie, sessionTokenOf } from '@/lib/session'

/** Ends the session of the browser that posts the form. Another site's form comes without the cookie (SameSite), and so ends nothing. */
export async function POST(request: Request): Promise<Response> {
  const token = sessionTokenOf(request)
  if (token) await endSession(token)
  return new Response(null, { status: 303, headers: { Location: '/', 'Set-Cookie': sessionCookie(''), 'Cache-Control': 'no-store' } })
}
