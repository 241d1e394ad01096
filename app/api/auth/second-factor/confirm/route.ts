import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { confirmEnrolment } from '@/lib/second-factor/enrol'
import { env } from '@/lib/settings/env'

/** Switches the second factor on. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.confirmSecondFactor,
  confirmEnrolment,
  () => env().SECOND_FACTOR,
)
