import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sessionCookie, sessionTokenOf } from '@/lib/session/cookie'
import { verifySessionToken } from '@/lib/session/token'
import { exchangeSsoCode } from '@/lib/sso/exchange'

/** Exchanges an SSO code for a session, and sets the session cookie. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.exchangeSsoCode,
  async ({ request, body: { code }, respond, addToLog }) => {
    const browserToken = sessionTokenOf(request)
    const browserSession = browserToken ? await verifySessionToken(browserToken) : null
    const { token, refreshToken, ...ids } = await exchangeSsoCode(code, browserSession?.sessionId ?? null)
    addToLog(ids)
    return respond({ ok: true, token, refreshToken }, { 'Set-Cookie': sessionCookie(token) })
  },
)
