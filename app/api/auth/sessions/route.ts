import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { requireSession } from '@/lib/session/find'
import { listSessions } from '@/lib/session/list'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.listSessions,
  async (call) =>
    call.respond({
      ok: true,
      sessions: await listSessions(await requireSession(call.request.headers)),
    }),
)
