import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { signInWithPasskey } from '@/lib/passkey/sign-in'
import { mailNewDevice } from '@/lib/password/new-device'
import { knownBrowserCookie, sessionCookies, stepCookie } from '@/lib/session/cookie'
import { recordFailure } from '../../failed-sign-in'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signInWithPasskey,
  async (call) => {
    const { caller, body, respond, setCookies, addToLog } = call
    addToLog({ factor: 'passkey' })

    const { userId, sessionId, isRepeated, knownBrowser, ...tokens } =
      await signInWithPasskey(body.credential, caller).catch(
        recordFailure({ method: 'passkey' }),
      )

    addToLog({ userId, sessionId })
    const kind = 'new-device-passkey'
    after(() => mailNewDevice({ userId, sessionId, isRepeated, kind }, caller))

    setCookies([
      ...sessionCookies(tokens),
      knownBrowserCookie(knownBrowser),
      stepCookie('challenge', null),
    ])

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
