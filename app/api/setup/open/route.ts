import * as z from 'zod'
import * as routes from '@/lib/contract/routes'
import { parseJson } from '@/lib/http/body'
import { actAsLink, endedLink, setupRoute } from '../setup-route'

const Opened = z.strictObject({ secret: z.string().max(100) })

/**
 * Opens a setup link: the secret from the fragment of its URL becomes a cookie. Uses nothing
 * up, so that a scanner of emails can open it too.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = setupRoute(
  routes.openSetup,
  async ({ request, addToLog, setCookies }) => {
    const { findLinkBySecret, recordOpened } = await import('@/lib/sso/setup/link')
    const { createSetupCookie } = await import('@/lib/sso/setup/cookie')
    const { findTarget } = await import('@/lib/sso/setup/target')

    const { secret } = await parseJson(request, Opened)
    const link = await findLinkBySecret(secret)
    const target = link && (await findTarget(link.id))
    if (!target) throw endedLink()

    addToLog({ connection: target.slug, setup: 'opened' })
    actAsLink(target)
    await recordOpened(target.link)
    setCookies([createSetupCookie(target.link.id)])

    return Response.json({ ok: true })
  },
)
