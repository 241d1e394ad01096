import { ApiError } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { findSession } from '@/lib/session/find'
import { sessionTokenOf } from '@/lib/session/session-from-request'

/** Returns whose session a JWT belongs to, from the database. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getSession,
  async ({ request: { headers }, respond }) => {
    const token = sessionTokenOf(headers)
    const session = token ? await findSession(token) : null
    if (!session) throw new ApiError('SESSION_INVALID')
    const { userId, email, sessionId, tokenExpiresAt, endsAt } = session
    return respond({
      ok: true,
      user: { id: userId, email },
      sessionId,
      expiresAt: tokenExpiresAt.toISOString(),
      sessionExpiresAt: endsAt.toISOString(),
    })
  },
)
