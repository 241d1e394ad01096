import * as routes from '../../../lib/contract/routes'
import { hashSecret, newSecret } from '../../../lib/crypto/token'
import { keepSecret, newAddress } from '../secrets'

/**
 * The dashboard callbacks in the settings of every server. No server listens at them, and
 * browsers open only the local one.
 */
export const dashboards = {
  app: 'https://app.example.com/callback',
  reports: 'https://reports.example.com/sign-in?tenant=a',
  local: 'http://127.0.0.1:10999/callback',
}

type Cookies = { token?: string; refreshToken?: string }

/** Returns a request to sign a user in, as a dashboard's server creates it. */
export function newRequest(redirectUri = dashboards.app) {
  const codeVerifier = keepSecret(newSecret())
  const state = keepSecret(newSecret())
  const codeChallenge = Buffer.from(hashSecret(codeVerifier)).toString('base64url')
  const query = new URLSearchParams({
    redirect_uri: redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  })
  return { codeVerifier, state, query }
}

/**
 * Requests the authorize endpoint as a browser with these cookies does. Follows no
 * redirect.
 */
export function authorize(
  base: string,
  query: URLSearchParams | string,
  { token, refreshToken }: Cookies = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const cookies = [
    token && `session=${token}`,
    refreshToken && `refresh=${refreshToken}`,
  ].filter(Boolean)
  return fetch(`${base}${routes.authorize.path}?${query}`, {
    redirect: 'manual',
    headers: {
      'X-Forwarded-For': newAddress(),
      ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
      ...headers,
    },
  })
}

/**
 * Returns a dashboard code and its verifier for a signed-in browser, or null if the
 * browser must sign in.
 */
export async function dashboardCode(
  base: string,
  cookies: Cookies,
  redirectUri = dashboards.app,
): Promise<{ code: string; codeVerifier: string } | null> {
  const { query, codeVerifier } = newRequest(redirectUri)
  const location = (await authorize(base, query, cookies)).headers.get('location')!
  const code = location.startsWith(redirectUri)
    ? new URL(location).searchParams.get('code')
    : null
  return code === null ? null : { code: keepSecret(code), codeVerifier }
}
