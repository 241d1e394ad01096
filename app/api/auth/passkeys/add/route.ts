import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { addPasskey } from '@/lib/passkey/add'
import { describePasskey } from '@/lib/passkey/list'
import { requireRefreshCookie } from '@/lib/session/fresh'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.addPasskey,
  async (session, { credential }, caller) => ({
    passkey: describePasskey(await addPasskey(session, credential, caller)),
  }),
  undefined,
  requireRefreshCookie,
)
