import { randomUUID } from 'node:crypto'
import * as routes from '../../../lib/contract/routes'
import { hashSecret, newSecret } from '../../../lib/crypto/token'
import type { Tokens } from '../databases/account'
import { documentedFetch } from '../documents/documented'
import type { Sql } from '../fixtures'
import { keepSecret, newAddress } from '../secrets'

/**
 * The redirect URIs of the clients in every database, by slug. No server listens at them,
 * and browsers open only the local one.
 */
export const dashboards = {
  app: 'https://app.example.com/callback',
  reports: 'https://reports.example.com/sign-in?tenant=a',
  local: 'http://127.0.0.1:10999/callback',
  page: 'https://page.example.com/', // a public client
}

/** Where a client in every database lets users return after a sign-out. */
export const signedOutUri = (slug: keyof typeof dashboards) =>
  new URL('/signed-out?by=user', dashboards[slug]).href

const redirectUriOf = (slug: string): string =>
  slug in dashboards ? dashboards[slug as keyof typeof dashboards] : dashboards.app

/** The secret of a client in every database. */
export const secretOf = (slug: string) => `cs_${slug.padEnd(43, '0')}`

/** Adds the clients to a database. */
export async function addClients(sql: Sql): Promise<void> {
  for (const [slug, uri] of Object.entries(dashboards))
    await addClient(sql, slug, [uri], slug === 'page')
}

/** Adds a client with its usual secret. */
export async function addClient(
  sql: Sql,
  slug: string,
  redirectUris: string[],
  isPublic = false,
  postLogoutUris = redirectUris.map((uri) => new URL('/signed-out?by=user', uri).href),
): Promise<void> {
  const id = randomUUID()
  await sql(
    `INSERT INTO clients (id, slug, public, redirect_uris, post_logout_redirect_uris)
     VALUES ($1, $2, $3, $4, $5)`,
    [id, slug, isPublic, redirectUris, postLogoutUris],
  )
  const secret = secretOf(slug)
  if (!isPublic)
    await sql(
      'INSERT INTO client_secrets (client_id, secret_hash, hint) VALUES ($1, $2, $3)',
      [id, Buffer.from(hashSecret(secret)), secret.slice(-4)],
    )
}

type Cookies = { token?: string; refreshToken?: string }

/** Returns a request to sign a user in, as a client creates it. */
export function newRequest(slug = 'app', redirectUri = redirectUriOf(slug)) {
  const codeVerifier = keepSecret(newSecret())
  const state = keepSecret(newSecret())
  const nonce = keepSecret(newSecret())
  const codeChallenge = Buffer.from(hashSecret(codeVerifier)).toString('base64url')
  const query = new URLSearchParams({
    client_id: slug,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    state,
    nonce,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  })
  return { codeVerifier, state, nonce, query }
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

/** A code of a client, and what its client sends with it. */
export type ClientCode = {
  slug: string
  code: string
  codeVerifier: string
  redirectUri: string
}

/**
 * Returns a code for a signed-in browser, or null if the browser must sign in or the client
 * is unknown or disabled.
 */
export async function clientCode(
  base: string,
  cookies: Cookies,
  slug = 'app',
): Promise<ClientCode | null> {
  const { query, codeVerifier } = newRequest(slug)
  const redirectUri = redirectUriOf(slug)
  const location = (await authorize(base, query, cookies)).headers.get('location')
  const code = location?.startsWith(redirectUri)
    ? new URL(location).searchParams.get('code')
    : null
  return code === null
    ? null
    : { slug, code: keepSecret(code), codeVerifier, redirectUri }
}

/** The fields of a form. A null field is left out. */
export type Form = Record<string, string | null>

export type TokenResponse = {
  status: number
  headers: Headers
  body: Record<string, any>
}

/**
 * Sends a form to the token endpoint, as the server of a client with its secret. Throws
 * unless the OpenAPI document describes the response.
 */
export async function requestTokens(
  base: string,
  slug: string | null,
  form: Form,
  headers: Record<string, string> = {},
): Promise<TokenResponse> {
  const credentials = slug && {
    client_id: slug,
    client_secret: slug === 'page' ? null : secretOf(slug),
  }
  const fields = Object.entries({ ...credentials, ...form })
  const body = new URLSearchParams(
    fields.filter((field): field is [string, string] => field[1] !== null),
  )

  const response = await documentedFetch(base + routes.issueTokens.path, {
    method: 'POST',
    headers: { 'X-Forwarded-For': newAddress(), ...headers },
    body,
  })

  const parsed = (await response.json()) as TokenResponse['body']
  for (const name of ['access_token', 'refresh_token', 'id_token'])
    if (parsed[name]) keepSecret(parsed[name])

  return { status: response.status, headers: response.headers, body: parsed }
}

/** Exchanges a code for tokens. `changed` are other fields of the form. */
export function exchangeClientCode(
  base: string,
  { slug, code, codeVerifier, redirectUri }: ClientCode,
  changed: Form = {},
  headers: Record<string, string> = {},
): Promise<TokenResponse> {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
  }
  return requestTokens(base, slug, { ...form, ...changed }, headers)
}

/** Renews the tokens of a client. */
export function renewTokens(
  base: string,
  refreshToken: string,
  slug = 'app',
): Promise<TokenResponse> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
  return requestTokens(base, slug, form)
}

/** The tokens of a client as those of a browser are called. */
export const tokensOf = ({ body }: TokenResponse): Tokens & { idToken: string } => ({
  token: body.access_token,
  refreshToken: body.refresh_token,
  idToken: body.id_token,
})

/** Opens a dashboard in a signed-in browser. Returns the tokens that its server gets. */
export async function openDashboard(
  base: string,
  browser: Cookies,
  slug = 'app',
): Promise<Tokens & { idToken: string }> {
  const code = await clientCode(base, browser, slug)
  const response = await exchangeClientCode(base, code!)
  if (response.status !== 200) throw new Error(JSON.stringify(response.body))
  return tokensOf(response)
}

/** Returns whether the session of an access token is live. */
export async function isLive(
  url: string,
  { token }: { token: string },
): Promise<boolean> {
  const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': newAddress() }
  return (await fetch(url + routes.getSession.path, { headers })).ok
}

/** Returns the claims of a JWT, unverified. */
export const claimsOf = (token: string): Record<string, any> =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

/** Returns the client of an access token, or null for the session JWT of a browser. */
export const clientOf = (token: string): string | null =>
  claimsOf(token).client_id ?? null
