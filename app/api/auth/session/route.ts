import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { readSessionToken, requireLive } from '@/lib/session/find'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.getSession,
    readPresented: ({ headers }: Request) => readSessionToken(headers),
  },
  async ({ request, presented, respond }) => {
    const { userId, email, sessionId, tokenExpiresAt, endsAt } = await requireLive(
      presented,
      request.headers,
    )
    return respond({
      ok: true,
      user: { id: userId, email },
      sessionId,
      expiresAt: tokenExpiresAt.toISOString(),
      sessionExpiresAt: endsAt.toISOString(),
    })
  },
)
