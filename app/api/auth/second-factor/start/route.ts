import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { startEnrolment } from '@/lib/second-factor/enrol'
import { env } from '@/lib/settings/env'

/** Returns a secret for an authenticator app. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.startSecondFactor,
  startEnrolment,
  () => env().SECOND_FACTOR,
)
