import { ApiError, invalid } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { addToOrigin } from '@/lib/event/origin'
import { readForm } from '@/lib/http/body'
import { route } from '@/lib/http/route'
import { findConnection, type OidcConnection } from '@/lib/sso/connection'
import { endProviderSessions } from '@/lib/sso/end-provider-sessions'
import { SignInRejected } from '@/lib/sso/rejection'

/**
 * Ends the sessions of a person who has signed out at an OpenID provider, or whose session
 * has ended there (OpenID Connect Back-Channel Logout 1.0).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...routes.endProviderSession, form: true, oauth: true } as const,
  async ({ request, params, addToLog }) => {
    const connection = await findConnection(params.connection!)
    if (!connection) throw new ApiError('NOT_FOUND', { check: 'connection' })

    addToLog({ connection: connection.slug })
    addToOrigin({ actor: 'provider', connectionId: connection.id })
    if (connection.settings.kind !== 'oidc')
      throw new ApiError('NOT_FOUND', { check: 'connection_kind' })

    const form = await readForm(request)
    const { verifyLogoutToken } = await import('@/lib/sso/oidc/logout')

    try {
      const token = form.get('logout_token')
      const logout = await verifyLogoutToken(connection as OidcConnection, token)
      await endProviderSessions(connection, logout)
    } catch (error) {
      if (!(error instanceof SignInRejected)) throw error

      addToLog({ check: error.check })
      if (error.error === 'response_invalid')
        throw invalid(['logout_token'], 'logout_token', 'The logout token is invalid.')

      // the provider may send the token again
      throw new ApiError('SERVICE_UNAVAILABLE', { cause: error })
    }

    return new Response(null, { status: 200 })
  },
)
