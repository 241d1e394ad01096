import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { removeSecondFactor } from '@/lib/second-factor/change'
import { env } from '@/lib/settings/env'

/** Switches the second factor off. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.removeSecondFactor,
  removeSecondFactor,
  () => env().PASSWORD_SIGN_IN,
)
