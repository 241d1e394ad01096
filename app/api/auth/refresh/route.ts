import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { cookieOf, sessionCookies } from '@/lib/session/cookie'
import { refreshSession } from '@/lib/session/refresh'

/** Renews a session. Without a refresh token in the body, returns none, so that no script can read the cookie's. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(operations.refreshSession, async (call) => {
  const { request, body, respond, setCookies, addToLog } = call
  const presented = body.refreshToken ?? cookieOf(request.headers, 'refresh')
  const { userId, sessionId, ...tokens } = await refreshSession(presented)
  addToLog({ userId, sessionId })
  setCookies(sessionCookies(tokens))
  return respond({ ok: true, token: tokens.token, ...(body.refreshToken && { refreshToken: tokens.refreshToken }) })
})
