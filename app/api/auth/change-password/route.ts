import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { changePassword } from '@/lib/password/change'
import { env } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.changePassword,
  changePassword,
  () => env().PASSWORD_SIGN_IN,
)
