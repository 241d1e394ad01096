import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { confirmEnrolment } from '@/lib/second-factor/change'
import { stepCookie } from '@/lib/session/cookie'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.confirmSecondFactor,
  confirmEnrolment,
  () => [stepCookie('enrolment', null)],
)
