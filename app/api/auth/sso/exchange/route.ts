import { exchangeSsoCode } from '@/lib/code/exchange'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sessionCookies } from '@/lib/session/cookie'
import { recordFailure } from '../../failed-sign-in'

/** Exchanges an SSO code for a session. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.exchangeSsoCode,
  async ({ body, caller, respond, setCookies, addToLog }) => {
    const exchanged = await exchangeSsoCode(body.code, caller).catch(
      recordFailure({ method: 'code' }),
    )
    const { userId, sessionId, connection, ...tokens } = exchanged

    addToLog({ userId, sessionId, ...(connection && { connection }) })
    setCookies(sessionCookies(tokens))

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
