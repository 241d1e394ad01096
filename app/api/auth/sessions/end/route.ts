import { invalid } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { requireSession } from '@/lib/session/find'
import { endListedSession } from '@/lib/session/list'
import { endOtherSessions } from '@/lib/session/revoke'
import { noticeClientsLater } from '../../notice-clients'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.endSessions,
  async (call) => {
    const { request, body, respond, addToLog } = call
    const { sessionId, others } = body
    const session = await requireSession(request.headers)
    addToLog({ userId: session.userId, sessionId: session.sessionId })
    if (sessionId === undefined && !others)
      throw invalid([], 'invalid_type', 'Send `sessionId`, or `others` as true.')
    if (sessionId !== undefined) await endListedSession(session, sessionId)
    if (others) await endOtherSessions(session)
    noticeClientsLater()

    return respond({ ok: true })
  },
)
