import * as z from 'zod'
import * as routes from '@/lib/contract/routes'
import { parseJson } from '@/lib/http/body'
import { countUse, requireTarget, setupRoute } from '../setup-route'

const maxBodyBytes = 384 * 1024 // metadata of 256 KiB in base64

// strict: a link changes nothing else
const Saved = z.discriminatedUnion('protocol', [
  z.strictObject({
    protocol: z.literal('oidc'),
    issuer: z.string().max(2_000).optional(),
    clientId: z.string().max(500).optional(),
    clientSecret: z.string().max(2_000).optional(),
  }),
  z.strictObject({ protocol: z.literal('saml'), metadata: z.base64() }),
])

/** Saves the values of an identity provider, or renews those of an enabled connection. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = setupRoute(
  routes.saveSetup,
  async (call) => {
    const target = await requireTarget(call)
    const given = await parseJson(call.request, Saved, maxBodyBytes)
    await countUse(target)

    const { saveValues } = await import('@/lib/sso/setup/save')
    const entered =
      given.protocol === 'saml'
        ? { ...given, metadata: Buffer.from(given.metadata, 'base64') }
        : given
    const { outcome, notes } = await saveValues(target, entered)
    call.addToLog({ setup: outcome })

    return Response.json({ ok: true, outcome, notes })
  },
)
