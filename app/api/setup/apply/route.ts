import * as routes from '@/lib/contract/routes'
import { requireTarget, setupRoute } from '../setup-route'

/** Activates a connection, if the link may do it. Ends the link. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = setupRoute(
  routes.applySetup,
  async (call) => {
    const target = await requireTarget(call)

    const { applyConnection } = await import('@/lib/sso/setup/apply')
    const domains = await applyConnection(target)
    call.addToLog({ setup: 'applied' })

    return Response.json({ ok: true, domains })
  },
)
