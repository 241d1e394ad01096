import { exchangeSsoCode } from '@/lib/code/exchange'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { browserOf, sessionCookies } from '@/lib/session/cookie'
import { sessionIdsOfBrowser } from '@/lib/session/find'
import { deviceOf } from '@/lib/texts/device'

/**
 * Exchanges an SSO code for a session. Sets the session cookies only for browsers, which
 * send no PKCE verifier.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.exchangeSsoCode,
  async (call) => {
    const { request, body, respond, setCookies, addToLog } = call
    const { headers } = request
    const { code, codeVerifier } = body
    const isBrowser = codeVerifier === undefined

    const presenter = isBrowser
      ? {
          browser: browserOf(headers),
          sessionIds: await sessionIdsOfBrowser(headers),
          device: deviceOf(headers.get('user-agent')),
        }
      : { browser: null, sessionIds: [], codeVerifier }

    const { userId, sessionId, ...tokens } = await exchangeSsoCode(code, presenter)
    addToLog({ userId, sessionId })
    if (isBrowser) setCookies(sessionCookies(tokens))

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
