import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { isFamilyLive, readSessionToken, requireLive } from '@/lib/session/find'
import { verifySessionToken } from '@/lib/session/tokens'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.getSession,
    readPresented: async ({ headers }: Request) => {
      const token = readSessionToken(headers)
      return token ? verifySessionToken(token) : null
    },
  },
  async ({ request, presented, respond }) => {
    const token = readSessionToken(request.headers)
    const session = await requireLive(token, presented, isFamilyLive)
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
