import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sendAfterRequest } from '@/lib/mail/sender'
import { mailNewDevice } from '@/lib/password/new-device'
import { signInWithSecondFactor } from '@/lib/second-factor/sign-in'
import { knownBrowserCookie, sessionCookies, stepCookie } from '@/lib/session/cookie'
import { sendsMail } from '@/lib/settings/env'
import { recordFailure } from '../../failed-sign-in'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signInSecondFactor,
  async (call) => {
    const { caller, body, respond, setCookies, addToLog } = call
    const { challenge, ...given } = body
    addToLog({ factor: given.recoveryCode === undefined ? 'totp' : 'recovery-code' })

    // after a wrong code too, because many of them cause a notice
    if (sendsMail()) after(sendAfterRequest)

    const { userId, sessionId, isRepeated, knownBrowser, ...tokens } =
      await signInWithSecondFactor(challenge, given, caller).catch(
        recordFailure({ method: 'password' }),
      )

    addToLog({ userId, sessionId })
    after(() => mailNewDevice({ userId, sessionId, isRepeated }, caller))

    setCookies([
      ...sessionCookies(tokens),
      knownBrowserCookie(knownBrowser),
      stepCookie('challenge', null),
    ])

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
