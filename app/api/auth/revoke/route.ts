import { requireClient } from '@/lib/client/client'
import { readCredentials } from '@/lib/client/credentials'
import { revokeClientSession } from '@/lib/client/revoke'
import { invalid } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { addToOrigin } from '@/lib/event/origin'
import { route } from '@/lib/http/route'
import { readRefreshToken, verifySessionToken } from '@/lib/session/tokens'

/** Ends the session of a client (RFC 7009). The session of the browser continues. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.revokeToken,
    readPresented: async (_: Request, { token }: { token: string }) =>
      readRefreshToken(token) ?? verifySessionToken(token, { mayHaveExpired: true }),
  },
  async ({ request, body, presented, addToLog, respond }) => {
    const credentials = readCredentials(request.headers, body)
    const client = await requireClient(credentials)
    addToLog({ client: credentials.slug })
    addToOrigin({ actor: 'client', clientId: client.id })
    if (!presented) return respond({}) // RFC 7009 §2.2

    const { sessionId } = presented
    addToLog({ sessionId })
    const isOwn = await revokeClientSession(client.id, sessionId)
    if (!isOwn)
      throw invalid(
        ['token'],
        'other_client',
        'The token was not issued to this client.',
        'token_client',
      )

    return respond({})
  },
)
