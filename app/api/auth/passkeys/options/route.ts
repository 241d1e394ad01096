import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { startRegistration } from '@/lib/passkey/add'
import { startPasskeySetUp } from '@/lib/passkey/set-up'
import { requireFreshSession } from '@/lib/session/fresh'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.startPasskey,
  startRegistration,
  undefined,
  requireFreshSession,
  async (user) => startPasskeySetUp(user),
)
