import { after } from 'next/server'
import { emailForms } from '@/lib/contract/email-address'
import { operations } from '@/lib/contract/operations'
import { cleanEmail } from '@/lib/contract/typed-text'
import { route } from '@/lib/http/route'
import { mailNewDevice } from '@/lib/password/new-device'
import { signIn } from '@/lib/password/sign-in'
import { knownBrowserCookie, sessionCookies, stepCookie } from '@/lib/session/cookie'
import { recordFailure } from '../failed-sign-in'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signIn,
  async (call) => {
    const { caller, body, respond, setCookies, addToLog } = call

    const emails = emailForms(cleanEmail(body.email)) ?? []
    const signedIn = await signIn(body.email, body.password, caller)
      .catch((error) => {
        const { challenge } = error.details ?? {}
        if (challenge) setCookies([stepCookie('challenge', challenge.challenge)])
        throw error
      })
      .catch(recordFailure({ method: 'password', emails }))

    const { userId, sessionId, isRepeated, knownBrowser, ...tokens } = signedIn
    addToLog({ userId, sessionId })
    after(() => mailNewDevice({ userId, sessionId, isRepeated }, caller))
    setCookies([...sessionCookies(tokens), knownBrowserCookie(knownBrowser)])

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
