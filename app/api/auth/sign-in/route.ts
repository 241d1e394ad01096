import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { deviceOf } from '@/lib/device'
import { clientSubnet } from '@/lib/http/client-key'
import { route } from '@/lib/http/route'
import { mailRequestOf } from '@/lib/mail/request'
import { mailNewDevice } from '@/lib/password/new-device'
import { signIn } from '@/lib/password/sign-in'
import { cookieOf, knownBrowserCookie, sessionCookies } from '@/lib/session/cookie'
import { sessionIdsOfBrowser } from '@/lib/session/session-from-request'
import { env } from '@/lib/settings/env'

/** Starts a session for a user who knows the password, and sets its cookies. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.signIn,
  async ({ request, body: { email, password }, respond, setCookies, addToLog }) => {
    const { headers } = request
    const { userId, sessionId, knownBrowser, ...tokens } = await signIn(email, password, {
      subnet: clientSubnet(request),
      sessionIds: await sessionIdsOfBrowser(headers),
      device: deviceOf(headers.get('user-agent')),
      knownBrowser: cookieOf(headers, 'known'),
    })
    addToLog({ userId, sessionId })
    after(() => mailNewDevice({ userId, sessionId }, cookieOf(headers, 'known'), mailRequestOf(headers)))
    setCookies([...sessionCookies(tokens), knownBrowserCookie(knownBrowser)])
    return respond({ ok: true, token: tokens.token, refreshToken: tokens.refreshToken })
  },
  () => env().PASSWORD_SIGN_IN,
)
