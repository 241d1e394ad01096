import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { cookieOf, sessionCookies } from '@/lib/session/cookie'
import { refreshSession } from '@/lib/session/refresh'

/**
 * Renews a session. A refresh token from a cookie is renewed in the cookie only, where no
 * script can read it.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.refreshSession,
  async (call) => {
    const { request, body, respond, setCookies, addToLog } = call
    const presented = body.refreshToken ?? cookieOf(request.headers, 'refresh')
    const { userId, sessionId, ...tokens } = await refreshSession(presented)
    addToLog({ userId, sessionId })
    setCookies(sessionCookies(tokens))
    return respond({
      ok: true,
      token: tokens.token,
      ...(body.refreshToken && { refreshToken: tokens.refreshToken }),
    })
  },
)
