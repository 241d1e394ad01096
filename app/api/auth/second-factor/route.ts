import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { findSecondFactor } from '@/lib/second-factor/find'
import { requireSession } from '@/lib/session/find'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getSecondFactor,
  async (call) => {
    const { userId } = await requireSession(call.request.headers)
    const { enabledAt, ...factor } = await findSecondFactor(userId)
    return call.respond({ ok: true, ...factor, enabledAt: enabledAt?.toISOString() })
  },
)
