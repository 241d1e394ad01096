import { ApiError, invalid } from '@/lib/contract/errors'
import { addToOrigin } from '@/lib/event/origin'
import { countRequest, setupLimit } from '@/lib/http/rate-limit/limit'
import { type AddToLog, route } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import type { Target } from '@/lib/sso/setup/target'

/** The text for a link that does not work, whatever the reason. */
export const endedLinkMessage =
  'This link has ended. Ask your contact for a new one. What you have saved is kept.'

export type SetupCall = {
  request: Request
  addToLog: AddToLog
  setCookies: (values: string[]) => void
}

/**
 * Returns the handlers of a request of the page /setup. Accepts requests of this site only.
 * Errors have a text for the holder of the link. Loads nothing without SETUP_LINKS.
 */
export function setupRoute(
  definition: { name: string; method: 'GET' | 'POST' },
  work: (call: SetupCall) => Promise<Response>,
) {
  return route({ ...definition, setting: 'SETUP_LINKS' } as const, async (call) => {
    if (!isSameOrigin(call.request.headers))
      throw new ApiError('ORIGIN_REJECTED', { check: 'other_site' })

    const { LinkEnded } = await import('@/lib/sso/setup/link')
    const { SetupProblem } = await import('@/lib/sso/setup/problem')

    try {
      return await work(call)
    } catch (error) {
      if (error instanceof LinkEnded) throw endedLink()
      if (error instanceof SetupProblem)
        throw invalid([], 'setup_value', error.message, 'setup_value')

      throw error
    }
  })
}

export function endedLink(message = endedLinkMessage): ApiError {
  return invalid([], 'setup_link', message, 'setup_link')
}

const closedMessage =
  'You opened your link more than an hour ago. Open it again. What you have saved is kept.'

/** Returns what the link of this browser is about. Throws unless it is valid. */
export async function requireTarget({ request, addToLog }: SetupCall): Promise<Target> {
  const { readSetupCookie } = await import('@/lib/sso/setup/cookie')
  const { findTarget } = await import('@/lib/sso/setup/target')
  const linkId = readSetupCookie(request.headers)
  if (linkId === null) throw endedLink(closedMessage)

  const target = await findTarget(linkId)
  if (!target) throw endedLink()

  addToLog({ connection: target.slug })
  if (!target.link.isLive) throw endedLink()

  actAsLink(target)
  return target
}

/** The link is the actor of the events of this request. */
export function actAsLink({ link: { connectionId } }: Target): void {
  addToOrigin({ actor: 'setup-link', connectionId })
}

/** Counts a test, or values that are saved. Throws if the link has had too many. */
export async function countUse({ link }: Target): Promise<void> {
  const { allowed, resetSeconds } = await countRequest(`setup ${link.id}`, setupLimit)
  if (allowed) return

  throw new ApiError('RATE_LIMITED', {
    message: `This link allows ${setupLimit.requests} tests and saved values per hour. Wait, then try again.`,
    retryAfterSeconds: resetSeconds,
    check: 'setup_requests',
  })
}
