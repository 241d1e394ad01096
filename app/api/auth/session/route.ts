import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { requireSession } from '@/lib/session/find'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getSession,
  async (call) => {
    const { userId, email, sessionId, tokenExpiresAt, endsAt } = await requireSession(
      call.request.headers,
    )
    return call.respond({
      ok: true,
      user: { id: userId, email },
      sessionId,
      expiresAt: tokenExpiresAt.toISOString(),
      sessionExpiresAt: endsAt.toISOString(),
    })
  },
)
