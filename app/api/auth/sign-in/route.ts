import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { mailNewDevice } from '@/lib/password/new-device'
import { signIn } from '@/lib/password/sign-in'
import { challengeCookie, knownBrowserCookie, sessionCookies } from '@/lib/session/cookie'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signIn,
  async (call) => {
    const { caller, body, respond, setCookies, addToLog } = call
    const { email, password } = body

    const { userId, sessionId, knownBrowser, ...tokens } = await signIn(
      email,
      password,
      caller,
    ).catch((error) => {
      if (error.details?.challenge)
        setCookies([challengeCookie(error.details.challenge.challenge)])
      throw error
    })

    addToLog({ userId, sessionId })
    after(() => mailNewDevice({ userId, sessionId }, caller))
    setCookies([...sessionCookies(tokens), knownBrowserCookie(knownBrowser)])

    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
)
