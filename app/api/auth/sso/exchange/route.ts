import { exchangeSsoCode } from '@/lib/code/exchange'
import { unknownCaller } from '@/lib/contract/caller'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sessionCookies } from '@/lib/session/cookie'

/**
 * Exchanges an SSO code for a session. Sets the session cookies only for browsers, which
 * send no PKCE verifier.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.exchangeSsoCode,
  async (call) => {
    const { body, respond, setCookies, addToLog } = call
    const { code, codeVerifier } = body
    const isBrowser = codeVerifier === undefined
    // a dashboard's server sends nothing of the browser
    const caller = isBrowser ? call.caller : unknownCaller

    const { userId, sessionId, ...tokens } = await exchangeSsoCode(
      code,
      caller,
      codeVerifier,
    )

    addToLog({ userId, sessionId })
    if (isBrowser) setCookies(sessionCookies(tokens))

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
