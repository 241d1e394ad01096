import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { cookieOf, sessionCookies } from '@/lib/session/cookie'
import { refreshSession } from '@/lib/session/refresh'

/** Renews a session. Without a refresh token in the body, returns none, so that no script can read the cookie's. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.refreshSession,
  async ({ request: { headers }, body, respond, setCookies, addToLog }) => {
    const { userId, sessionId, ...tokens } = await refreshSession(body.refreshToken ?? cookieOf(headers, 'refresh'))
    addToLog({ userId, sessionId })
    setCookies(sessionCookies(tokens))
    return respond({ ok: true, token: tokens.token, ...(body.refreshToken && { refreshToken: tokens.refreshToken }) })
  },
)
