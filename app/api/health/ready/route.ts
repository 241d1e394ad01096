import { ApiError } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { asUnavailable } from '@/lib/database/errors'
import { findUnready } from '@/lib/database/readiness'
import { route } from '@/lib/http/route'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getReadiness,
  async ({ respond }) => {
    // the reason is only in the log
    const check = await findUnready().catch((error) => {
      if (!asUnavailable(error)) throw error
      throw new ApiError('SERVICE_UNAVAILABLE', {
        check: 'database_unreachable',
        cause: error,
      })
    })
    if (check) throw new ApiError('SERVICE_UNAVAILABLE', { check })

    return respond({ ok: true })
  },
)
