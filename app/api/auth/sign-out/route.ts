import { operations } from '@/lib/contract/operations'
import { presentedSessionIds } from '@/lib/http/caller'
import { route } from '@/lib/http/route'
import { deletedSessionCookies } from '@/lib/session/cookie'
import { endSessions } from '@/lib/session/revoke'
import { noticeClientsLater } from '../notice-clients'

/**
 * Ends every session whose credentials the request contains. Deletes the cookies even if
 * that fails.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.signOut,
    readPresented: async ({ headers }: Request, body: { refreshToken?: string }) => {
      const sessionIds = await presentedSessionIds(headers, body.refreshToken)
      const [sessionId] = sessionIds
      return sessionId ? { sessionId, sessionIds } : null
    },
  },
  async ({ presented, respond, setCookies }) => {
    setCookies(deletedSessionCookies())
    await endSessions(presented?.sessionIds ?? [])
    noticeClientsLater()
    return respond({ ok: true })
  },
)
