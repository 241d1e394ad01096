import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { seeOther } from '@/lib/http/route'
import { countUse, requireTarget, type SetupCall, setupRoute } from '../setup-route'

/**
 * Starts a test sign-in, whose result is stored with the link. A browser navigates here, so
 * an error leads to the page /setup, which explains it.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = setupRoute(
  routes.testSetup,
  async (call) => {
    try {
      return await startSetupTest(call)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error

      const { check } = error.details
      if (check) call.addToLog({ check })
      return seeOther(check === 'setup_requests' ? '/setup?limited' : '/setup')
    }
  },
)

async function startSetupTest(call: SetupCall): Promise<Response> {
  const target = await requireTarget(call)
  const { connection, link } = target
  if (!connection) return seeOther('/setup') // nothing is saved yet

  await countUse(target)

  const { loadSignIn } = await import('@/lib/sso/kinds')
  const { startTest } = await import('@/app/api/auth/sso/[connection]/test-sign-in')
  const { addToLog, setCookies } = call
  const provider = await loadSignIn(connection)
  const test = { connection, provider, addToLog, setupLinkId: link.id }
  const result = await startTest(test, setCookies)

  return typeof result === 'string' ? seeOther(result) : result
}
