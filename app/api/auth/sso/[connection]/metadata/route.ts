import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { route } from '@/lib/http/route'
import { findConnection, isSaml } from '@/lib/sso/connection'
import { createMetadata, readPublicSettings } from '@/lib/sso/saml/metadata'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.getSamlMetadata,
  async ({ params, addToLog }) => {
    const connection = await findConnection(params.connection!)
    if (!connection) throw new ApiError('NOT_FOUND', { check: 'connection' })

    addToLog({ connection: connection.slug })
    if (!isSaml(connection)) throw new ApiError('NOT_FOUND', { check: 'connection_kind' })

    const headers = { 'Content-Type': 'application/samlmetadata+xml' }
    return new Response(await createMetadata(readPublicSettings(connection)), { headers })
  },
)
