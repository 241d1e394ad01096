import type { z } from 'zod'
import { authenticateClient } from '@/lib/client/client'
import { readCredentials } from '@/lib/client/credentials'
import {
  type ClientTokens,
  exchangeCode,
  refreshTokens,
  requireClient,
} from '@/lib/client/token'
import { ApiError, invalid } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import type { TokenRequest } from '@/lib/contract/schemas'
import { route } from '@/lib/http/route'
import { readRefreshToken } from '@/lib/session/tokens'

type Form = z.output<typeof TokenRequest>

/**
 * The token endpoint of OpenID clients (RFC 6749 §3.2). The client is authenticated before
 * its code is touched, because some clients send a code again after a 401.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...operations.issueTokens, readPresented },
  async ({ request, body, addToLog, respond }) => {
    const credentials = readCredentials(request.headers, body)
    const { grant_type: grant, redirect_uri: redirectUri = null } = body

    let tokens: ClientTokens
    if (grant === 'authorization_code') {
      await requireClient(credentials)
      addToLog({ client: credentials.slug, grant })
      const verifier = body.code_verifier ?? null
      tokens = await exchangeCode(credentials, {
        code: demand(body, 'code'),
        redirectUri,
        verifier,
      })
    } else if (grant === 'refresh_token') {
      const refreshToken = demand(body, 'refresh_token')
      const presented = readRefreshToken(refreshToken)
      tokens = await refreshTokens(credentials, refreshToken, presented)
      addToLog({ client: credentials.slug, grant })
    } else throw new ApiError('GRANT_UNSUPPORTED', { check: 'grant_type' })

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
  if (body.refresh_token) return readRefreshToken(body.refresh_token)

  const credentials = readCredentials(headers, body)
  if (credentials.secret === null) return null

  const client = await authenticateClient(credentials.slug, credentials.secret)
  return client && { clientId: client.id }
}

function demand(form: Form, field: 'code' | 'refresh_token'): string {
  const value = form[field]
  if (!value) throw invalid([field], 'invalid_type', `Send ${field}.`)

  return value
}
