import { ApiError, type ErrorCode } from '@/lib/contract/errors'
import type { FailedSignIn } from '@/lib/event/failed-sign-in'
import { currentOrigin } from '@/lib/event/origin'
import { recordsEvents } from '@/lib/settings/env'

/** The errors of a sign-in that failed. Others are limits, faults, or the next step. */
const failures: ErrorCode[] = [
  'SIGN_IN_INVALID',
  'SECOND_FACTOR_INVALID',
  'CHALLENGE_INVALID',
  'PASSKEY_INVALID',
  'SSO_EXCHANGE_INVALID',
]

type Failed = Omit<FailedSignIn, 'check'>

/**
 * Writes the event of a failed sign-in, after the response. Returns a function that throws
 * the error again, for the `catch` of a sign-in.
 */
export function recordFailure(failed: Failed): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof ApiError && failures.includes(error.code))
      await recordFailureLater(
        failed,
        error.details.check ?? error.details.issues?.[0]?.code,
      )
    throw error
  }
}

/** Writes the event of a failed sign-in, after the response. */
export async function recordFailureLater(
  failed: Failed,
  check = 'internal',
): Promise<void> {
  // a reused code has an event of its own
  if (!recordsEvents() || check === 'code_used') return

  const { userId = null, connectionId = null, ...origin } = currentOrigin()
  const isOfProvider = failed.method === 'code' && connectionId !== null
  const method = isOfProvider ? 'sso' : failed.method
  const known = { userId, connectionId, ...failed, method, check }
  const { device = null, network = null } = origin // read now, while the request is there
  const { requestId = null } = origin

  // only here, so that the first exchange of a process does not wait for it
  const { after } = await import('next/server')

  after(async () => {
    const { recordFailedSignIn } = await import('@/lib/event/failed-sign-in')
    await recordFailedSignIn(known, { device, network, requestId })
  })
}
