import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { readCookie, sessionCookies } from '@/lib/session/cookie'
import { refreshSession } from '@/lib/session/refresh'
import { readRefreshToken } from '@/lib/session/tokens'

type Body = { refreshToken?: string | undefined }

/**
 * Renews a session. A refresh token from a cookie is renewed in the cookie only, where no
 * script can read it.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.refreshSession,
    readPresented: async (request: Request, body: Body) =>
      readRefreshToken(readToken(request, body) ?? ''),
  },
  async (call) => {
    const { request, body, presented, respond, setCookies, addToLog } = call
    const { userId, sessionId, ...tokens } = await refreshSession(
      readToken(request, body),
      presented,
    )
    addToLog({ userId, sessionId })
    setCookies(sessionCookies(tokens))

    return respond({
      ok: true,
      token: tokens.token,
      ...(body.refreshToken && { refreshToken: tokens.refreshToken }),
    })
  },
)

function readToken({ headers }: Request, body: Body): string | null {
  return body.refreshToken ?? readCookie(headers, 'refresh')
}
