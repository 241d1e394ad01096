import { userClaims } from '@/lib/client/id-token'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { isOfLiveClient, requireLive } from '@/lib/session/find'
import { readBearer, verifySessionToken } from '@/lib/session/tokens'

/** The claims about the user of an access token (OpenID Connect Core §5.3). */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...operations.getUserInfo,
    readPresented: async ({ headers }: Request) => {
      const token = readBearer(headers)
      return token ? verifySessionToken(token) : null
    },
  },
  async ({ request, presented, respond, addToLog }) => {
    const token = readBearer(request.headers)
    const session = await requireLive(token, presented, isOfLiveClient)
    addToLog({ userId: session.userId, sessionId: session.sessionId })

    return respond(userClaims(session))
  },
)
