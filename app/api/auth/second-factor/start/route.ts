import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { startEnrolment } from '@/lib/second-factor/change'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.startSecondFactor,
  startEnrolment,
)
