// All requests to the login. You can copy this file into your dashboard. It needs no
// framework.
import { createHash, randomBytes } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'

// the settings PUBLIC_URL and SESSION_AUDIENCE of the login
export const { LOGIN_URL = 'http://localhost:3000', SESSION_AUDIENCE = 'dashboard' } =
  process.env

/** Returns a value that cannot be guessed. */
export const newSecret = () => randomBytes(32).toString('base64url')

/**
 * Begins a sign-in. Store `state` and `codeVerifier` in the browser's session, then
 * redirect the browser to `url`. `mark` is the beginning of `state`.
 */
export function beginSignIn(callbackUrl, mark = '') {
  const [state, codeVerifier] = [mark + newSecret(), newSecret()]
  const query = new URLSearchParams({
    redirect_uri: callbackUrl,
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return { url: `${LOGIN_URL}/api/auth/authorize?${query}`, state, codeVerifier }
}

/** Exchanges the code of a callback. Returns null if the user has to sign in again. */
export function exchangeCode(code, codeVerifier) {
  return requestTokens(
    '/api/auth/sso/exchange',
    { code, codeVerifier },
    'SSO_EXCHANGE_INVALID',
  )
}

/** Returns tokens that replace the previous ones, or null if the session has ended. */
export function renewTokens(refreshToken) {
  return requestTokens('/api/auth/refresh', { refreshToken }, 'REFRESH_INVALID')
}

/**
 * Throws after 429, after 5xx and without a response. The session may still live, so keep
 * the tokens, and retry.
 */
async function requestTokens(path, body, invalidCode) {
  const { ok, code, token, refreshToken } = await post(path, body)
  if (code === invalidCode) return null
  if (!ok) throw new Error(`${path}: ${code}`)
  return { refreshToken, token, claims: await verifySession(token) }
}

const keys = createRemoteJWKSet(new URL(`${LOGIN_URL}/.well-known/jwks.json`))
const expected = {
  issuer: LOGIN_URL,
  audience: SESSION_AUDIENCE,
  algorithms: ['ES256'],
  typ: 'JWT',
}

/**
 * Returns the claims of a session JWT. Throws if its signature is invalid, it has
 * expired, or its audience differs.
 */
export async function verifySession(token) {
  return (await jwtVerify(token, keys, expected)).payload
}

/**
 * Returns false if the session has ended: after a sign-out or a password change, or
 * because the user was disabled.
 */
export async function isAlive(token) {
  const { ok, code } = await ask('/api/auth/session', {
    headers: { Authorization: `Bearer ${token}` },
  })
  if (!ok && code !== 'SESSION_INVALID') throw new Error(`/api/auth/session: ${code}`)
  return ok
}

/**
 * Ends the session and the browser's session at the login. Throws if they may still be
 * alive.
 */
export async function signOut(refreshToken) {
  const { ok, code } = await post('/api/auth/sign-out', { refreshToken })
  if (!ok) throw new Error(`/api/auth/sign-out: ${code}`)
}

function post(path, body) {
  const headers = { 'Content-Type': 'application/json' }
  return ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function ask(path, init) {
  const response = await fetch(LOGIN_URL + path, {
    ...init,
    signal: AbortSignal.timeout(10_000),
  })
  return response.json()
}
