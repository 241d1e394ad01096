import type * as z from 'zod'
import { authenticateClient, requireClient } from '@/lib/client/client'
import { type Credentials, readCredentials } from '@/lib/client/credentials'
import { type ClientTokens, exchangeCode, refreshTokens } from '@/lib/client/token'
import { ApiError, invalid } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import type { TokenRequest } from '@/lib/contract/schemas'
import { addToOrigin } from '@/lib/event/origin'
import { type AddToLog, route } from '@/lib/http/route'
import { readRefreshToken } from '@/lib/session/tokens'

type Form = z.output<typeof TokenRequest>

/**
 * The token endpoint of OpenID clients (RFC 6749 §3.2). The client is authenticated before
 * its code is touched, because some clients send a code again after a 401.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...operations.issueTokens, readPresented },
  async ({ request, body, presented, addToLog, respond }) => {
    const credentials = readCredentials(request.headers, body)
    const isAuthenticated = presented !== null && 'clientId' in presented
    if (!isAuthenticated) await requireClient(credentials)
    addToLog({ client: credentials.slug })
    addToOrigin({ actor: 'client' })

    const tokens = await grantTokens(credentials, body, addToLog)
    const { userId, sessionId } = tokens
    addToLog({ userId, sessionId })

    return respond({
      access_token: tokens.accessToken,
      token_type: 'Bearer',
      expires_in: tokens.tokenSeconds,
      refresh_token: tokens.refreshToken,
      id_token: tokens.idToken,
      scope: 'openid email profile',
    })
  },
)

/**
 * Returns what a request is counted by: the session of a refresh token, or the confidential
 * client that presents a code. All others are counted by IP address.
 */
async function readPresented({ headers }: Request, body: Form) {
  if (body.grant_type === 'refresh_token')
    return readRefreshToken(demand(body, 'refresh_token'))

  const { slug, secret } = readCredentials(headers, body)
  const client = secret === null ? null : await authenticateClient(slug, secret)

  return client && { clientId: client.id }
}

function grantTokens(
  credentials: Credentials,
  body: Form,
  addToLog: AddToLog,
): Promise<ClientTokens> {
  const { grant_type: grant, redirect_uri: redirectUri = null } = body

  if (grant === 'authorization_code') {
    addToLog({ grant })
    const verifier = body.code_verifier ?? null
    return exchangeCode(credentials, {
      code: demand(body, 'code'),
      redirectUri,
      verifier,
    })
  }

  if (grant === 'refresh_token') {
    addToLog({ grant })
    const token = demand(body, 'refresh_token')
    return refreshTokens(credentials, token, readRefreshToken(token))
  }

  throw new ApiError('GRANT_UNSUPPORTED', { check: 'grant_type' })
}

function demand(form: Form, field: 'code' | 'refresh_token'): string {
  const value = form[field]
  if (!value) throw invalid([field], 'invalid_type', `Send ${field}.`)

  return value
}
