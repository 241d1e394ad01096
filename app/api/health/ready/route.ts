import { ApiError } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { isUsable } from '@/lib/database/readiness'
import { route } from '@/lib/http/route'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getReadiness,
  async ({ respond }) => {
    if (!(await isUsable())) throw new ApiError('SERVICE_UNAVAILABLE')
    return respond({ ok: true })
  },
)
