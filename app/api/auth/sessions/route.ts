import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { requireSession } from '@/lib/session/find'
import { listSessions } from '@/lib/session/list'

/** Lists the live sessions of the user. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.listSessions,
  async ({ request: { headers }, respond }) => {
    const sessions = await listSessions(await requireSession(headers))
    return respond({
      ok: true,
      sessions: sessions.map(({ id, device, createdAt, lastUsedAt, isCurrent, method, connection }) => ({
        id,
        device,
        createdAt: createdAt.toISOString(),
        lastUsedAt: lastUsedAt.toISOString(),
        current: isCurrent,
        signedInWith: { method, ...(connection && { connection }) },
      })),
    })
  },
)
