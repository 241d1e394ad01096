// All requests to the login, with openid-client. You can copy this file into your dashboard.
import * as client from 'openid-client'

export const {
  LOGIN_URL = 'http://localhost:3000', // the setting PUBLIC_URL of the login
  CLIENT_ID = 'app',
  CLIENT_SECRET,
} = process.env

let configured

/** Reads the discovery document of the login, when it is first needed. */
function configure() {
  const isHttp = LOGIN_URL.startsWith('http:') // only on this machine
  const options = { execute: isHttp ? [client.allowInsecureRequests] : [] }
  const reading = () =>
    client.discovery(new URL(LOGIN_URL), CLIENT_ID, CLIENT_SECRET, undefined, options)

  configured ??= reading().catch((error) => {
    configured = undefined // so that the next request tries again
    throw error
  })
  return configured
}

/** Returns a value that cannot be guessed. */
export const newSecret = client.randomState

/**
 * Begins a sign-in. Store `state` and `codeVerifier` in the browser's session, then
 * redirect the browser to `url`. `mark` is the beginning of `state`.
 */
export async function beginSignIn(callbackUrl, mark = '') {
  const state = mark + newSecret()
  const codeVerifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(await configure(), {
    redirect_uri: callbackUrl,
    scope: 'openid',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, state, codeVerifier }
}

/** Completes a sign-in at the callback. Returns null if the user has to sign in again. */
export async function finishSignIn(url, { state, codeVerifier }) {
  const checks = { expectedState: state, pkceCodeVerifier: codeVerifier }
  return orNull(client.authorizationCodeGrant(await configure(), url, checks))
}

/** Returns tokens that replace the previous ones, or null if the session has ended. */
export async function renewTokens(refreshToken) {
  return orNull(client.refreshTokenGrant(await configure(), refreshToken))
}

/**
 * Returns null after `invalid_grant`. Throws after 429, after 5xx and without a response:
 * the session may still live, so keep the tokens, and try again later.
 */
async function orNull(request) {
  try {
    const tokens = await request
    return {
      token: tokens.access_token,
      refreshToken: tokens.refresh_token,
      idToken: tokens.id_token,
      claims: tokens.claims(), // of the ID token, which openid-client has verified
    }
  } catch (error) {
    if (error.error === 'invalid_grant') return null
    throw error
  }
}

/**
 * Returns false if the session has ended: after a sign-out or a password change, or
 * because the user was disabled.
 */
export async function isAlive({ token, claims }) {
  try {
    await client.fetchUserInfo(await configure(), token, claims.sub)
    return true
  } catch (error) {
    if (error.status === 401) return false
    throw error
  }
}

/**
 * Returns the URL that ends the browser's session at the login, and its sessions at all
 * dashboards. `idToken`: of the last sign-in or renewal. Without it, the login asks the
 * user.
 */
export async function endSessionUrl(idToken) {
  const hint = idToken ? { id_token_hint: idToken } : {}
  return client.buildEndSessionUrl(await configure(), hint).href
}
