import { route } from '@/lib/http/route'
import { nextDestination } from '@/lib/page/next-path'
import { newSecret } from '@/lib/secret'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { authorizationUrl } from '@/lib/sso/oidc'
import { startAttempt } from '@/lib/sso/sign-in-attempt'
import { navigate } from '../navigation'

/** Starts a sign-in: remembers the browser, and redirects it to the identity provider. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-start', method: 'GET' },
  async ({ request, setCookies, ...call }) =>
    navigate(call, async (connection, wayOn) => {
      const { PUBLIC_URL, DASHBOARD_URL } = env()
      const browser = browserOf(request.headers) ?? newSecret()
      wayOn.next = nextDestination(new URL(request.url).searchParams.get('next'), PUBLIC_URL, DASHBOARD_URL)
      const secrets = await startAttempt(connection.id, browser, wayOn.next)
      const { href } = await authorizationUrl(connection, secrets)
      setCookies([browserCookie(browser)])
      return href
    }),
)
