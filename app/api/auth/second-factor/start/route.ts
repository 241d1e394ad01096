import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { startEnrolment } from '@/lib/second-factor/change'
import { startAppSetUp } from '@/lib/second-factor/set-up'
import { stepCookie } from '@/lib/session/cookie'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.startSecondFactor,
  startEnrolment,
  ({ enrolment }) => [stepCookie('enrolment', enrolment)],
  undefined,
  startAppSetUp,
)
