import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { deletedSessionCookies } from '@/lib/session/cookie'
import { presentedSessionIds } from '@/lib/session/find'
import { endSessions } from '@/lib/session/revoke'

/**
 * Ends every session whose credentials the request contains. Deletes the cookies even if
 * that fails.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signOut,
  async (call) => {
    const { request, body, respond, setCookies } = call
    setCookies(deletedSessionCookies())
    await endSessions(await presentedSessionIds(request.headers, body.refreshToken))
    return respond({ ok: true })
  },
)
