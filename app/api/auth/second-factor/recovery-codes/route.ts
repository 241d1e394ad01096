import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { replaceRecoveryCodes } from '@/lib/second-factor/change'
import { findProven } from '../find-proven'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.replaceRecoveryCodes,
  replaceRecoveryCodes,
  undefined,
  findProven,
)
