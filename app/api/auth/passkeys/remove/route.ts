import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { removePasskey } from '@/lib/passkey/manage'
import { requireFreshSession } from '@/lib/session/fresh'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.removePasskey,
  removePasskey,
  undefined,
  requireFreshSession,
)
