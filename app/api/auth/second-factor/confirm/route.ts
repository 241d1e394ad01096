import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { confirmEnrolment } from '@/lib/second-factor/change'
import { confirmAppSetUp } from '@/lib/second-factor/set-up'
import { stepCookie } from '@/lib/session/cookie'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.confirmSecondFactor,
  confirmEnrolment,
  ({ token }) => [
    stepCookie('enrolment', null),
    ...(token ? [stepCookie('challenge', null)] : []),
  ],
  undefined,
  confirmAppSetUp,
)
