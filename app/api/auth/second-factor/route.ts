import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { findSecondFactor } from '@/lib/second-factor/find'
import { requireSession } from '@/lib/session/find'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getSecondFactor,
  async ({ request: { headers }, respond }) => {
    const { enabledAt, ...factor } = await findSecondFactor((await requireSession(headers)).userId)
    return respond({ ok: true, ...factor, enabledAt: enabledAt?.toISOString() })
  },
)
