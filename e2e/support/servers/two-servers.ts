import * as routes from '../../../lib/contract/routes'
import { enableUser } from '../../../lib/user/user'
import { clientOf, renewTokens } from '../browsers/dashboard'
import type { Account, Tokens } from '../databases/account'
import { documentedFetch } from '../documents/documented'
import {
  type ApiResponse,
  exchangePath,
  newPassword,
  postTo,
  resetPath,
  type Sql,
} from '../fixtures'
import { newAddress } from '../secrets'
import { startServer } from './server'

/**
 * A client that stores the tokens that it receives. Both methods return whether they
 * succeeded.
 */
export type Client = {
  given: Tokens[]
  refresh: (refreshToken: string) => Promise<boolean>
  /** Exchanges a code, optionally with the cookies of one session or of two sessions. */
  exchange: (code: string, held?: Tokens, refreshCookieOf?: Tokens) => Promise<boolean>
}

export type TwoServers = {
  /** Posts JSON alternately to both servers, each time from another IP address. */
  post: (
    path: string,
    body: object,
    headers?: Record<string, string>,
  ) => Promise<ApiResponse>
  client: () => Client
  /** Returns the URLs of both servers alternately. */
  nextUrl: () => string
  reset: (user: Account) => Promise<void>
  /** Signs out with the cookies of one session or of two sessions. */
  signOut: (session: Tokens, refreshCookieOf?: Tokens) => Promise<void>
  /**
   * Returns the tokens that are still valid at `GET /api/auth/session` or for a refresh.
   */
  alive: (tokens: Tokens[]) => Promise<Tokens[]>
  /** Returns the lines that both servers logged at one level. */
  logged: (level: 'warn' | 'error') => Record<string, any>[]
  stop: () => Promise<void>
}

/**
 * Starts two server processes that share the database, the signing keys and the public
 * URL.
 */
export async function startTwoServers(
  databaseUrl = process.env.DATABASE_URL!,
  more = {},
): Promise<TwoServers> {
  const databases = { DATABASE_URL: databaseUrl, DIRECT_DATABASE_URL: databaseUrl }
  const settings = { PUBLIC_URL: process.env.PUBLIC_URL!, ...databases, ...more }
  const servers = await Promise.all([startServer(settings), startServer(settings)])
  let turn = 0
  const next = () => servers[turn++ % 2]!.url
  const post: TwoServers['post'] = (path, body, headers) =>
    postTo(next() + path, body, { 'X-Forwarded-For': newAddress(), ...headers })
  const refresh = (refreshToken: string) =>
    post(routes.refreshSession.path, { refreshToken })
  /** Returns whether a session can be renewed. */
  const renews = async ({ token, refreshToken }: Tokens) => {
    const slug = clientOf(token)
    if (!slug) return succeeded(await refresh(refreshToken), 'REFRESH_INVALID')
    return (await renewTokens(next(), refreshToken, slug)).status === 200
  }
  const isLive = async (tokens: Tokens) => {
    const { token } = tokens
    const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': newAddress() }
    const [session, renewed] = await Promise.all([
      documentedFetch(next() + routes.getSession.path, { headers }),
      renews(tokens),
    ])
    await session.arrayBuffer()
    return session.status !== 401 || renewed
  }
  return {
    post,
    nextUrl: next,
    client: () => {
      const given: Tokens[] = []
      const keep = (response: ApiResponse, errorCode: string) => {
        const success = succeeded(response, errorCode)
        if (success) given.push(response.body as Tokens)
        return success
      }
      return {
        given,
        refresh: async (refreshToken) =>
          keep(await refresh(refreshToken), 'REFRESH_INVALID'),
        exchange: async (code, held, refreshCookieOf) =>
          keep(
            await post(exchangePath, { code }, held && cookies(held, refreshCookieOf)),
            'SSO_EXCHANGE_INVALID',
          ),
      }
    },
    reset: async ({ resetToken }) => {
      succeeded(await post(resetPath, { token: resetToken, password: newPassword() }))
    },
    signOut: async (session, refreshCookieOf) => {
      succeeded(await post(routes.signOut.path, {}, cookies(session, refreshCookieOf)))
    },
    alive: async (tokens) => {
      const live = await Promise.all(tokens.map(isLive))
      return tokens.filter((_, index) => live[index])
    },
    logged: (level) => servers.flatMap((server) => server.logged(`"level":"${level}"`)),
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  }
}

/**
 * Throws unless the response is a success or this error. Does not use `expect`, which
 * takes a millisecond per call and so is too slow for thousands of responses.
 */
function succeeded({ status, body }: ApiResponse, errorCode?: string): boolean {
  if (status === 200) return true
  if (status === 400 && body.code === errorCode) return false
  throw new Error(`unexpected response: ${status} ${body.code} ${body.outcome ?? ''}`)
}

function cookies(
  { token }: Tokens,
  { refreshToken }: Partial<Tokens> = {},
): Record<string, string> {
  return { Cookie: `session=${token}${refreshToken ? `; refresh=${refreshToken}` : ''}` }
}

/**
 * Throws if a session, a code or a token of a user is still valid after a reset or after
 * the user was disabled. Enables the user first, so that nothing is rejected only because
 * the user is disabled. Checks the database and, if `presents`, sends all tokens and
 * codes.
 */
export async function checkEnded(
  servers: TwoServers,
  sql: Sql,
  { id, sessions, codes }: Account,
  given: Tokens[],
  presents = true,
): Promise<void> {
  await enableUser(id)
  const [left] = await sql(
    `SELECT (SELECT count(*)::int FROM sessions WHERE user_id = $1 AND revoked_at IS NULL) AS sessions,
       (SELECT count(*)::int FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL) AS codes`,
    [id],
  )
  const { exchange, given: givenLater } = servers.client()
  const working = presents ? await servers.alive([...sessions, ...given]) : []
  // including the used codes
  if (presents) await Promise.all(codes.map((code) => exchange(code)))
  const found = { ...left, presented: working.length + givenLater.length }
  if (Object.values(found).some(Boolean))
    throw new Error(`these still work: ${JSON.stringify(found)}`)
}
