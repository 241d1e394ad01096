import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'
import { findConnection, isSaml } from '@/lib/sso/connection'
import { createMetadata, readPublicSettings } from '@/lib/sso/saml/metadata'
import type { PublicSettings } from '@/lib/sso/saml/settings'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.getSamlMetadata,
  async ({ params, addToLog }) => {
    const slug = params.connection!
    const connection = await findConnection(slug)
    const unfinished = connection ? null : await findUnfinished(slug)
    if (!connection && !unfinished)
      throw new ApiError('NOT_FOUND', { check: 'connection' })

    addToLog({ connection: slug })
    if (connection && !isSaml(connection))
      throw new ApiError('NOT_FOUND', { check: 'connection_kind' })

    const settings = unfinished ?? readPublicSettings(connection!)
    const headers = { 'Content-Type': 'application/samlmetadata+xml' }
    return new Response(await createMetadata(settings), { headers })
  },
)

/** A provider reads our metadata before its own values are known here. */
async function findUnfinished(slug: string): Promise<PublicSettings | null> {
  if (!env().SETUP_LINKS) return null

  const { findUnfinishedSettings } = await import('@/lib/sso/setup/unfinished')
  return findUnfinishedSettings(slug)
}
