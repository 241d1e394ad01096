import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { describePasskey, listPasskeys } from '@/lib/passkey/list'
import { requireSession } from '@/lib/session/find'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.listPasskeys,
  async ({ request, respond }) => {
    const { userId } = await requireSession(request.headers)
    const { available, passkeys } = await listPasskeys(userId)
    return respond({ ok: true, available, passkeys: passkeys.map(describePasskey) })
  },
)
