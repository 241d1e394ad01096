import type { JWTVerifyGetKey } from 'jose'
import { signJwt } from '../crypto/token'
import { authenticationClaims, type StoredSession } from '../session/tokens'
import { env } from '../settings/env'

/** The claims about a user (OpenID Connect Core §5.1), in the ID token and at userinfo. */
export function userClaims({ userId, email }: { userId: string; email: string }) {
  return {
    sub: userId,
    email,
    // Nobody registers here: an operator or the owner of the domain has set the address.
    email_verified: true as const,
    preferred_username: email,
  }
}

type IdToken = Omit<StoredSession, 'generation' | 'endsAt' | 'client'> & {
  /** The slug of the client. */
  client: string
  nonce: string | null
  tokenSeconds: number
}

/** Signs an ID token (OpenID Connect Core §2) with RS256. */
export function signIdToken(session: IdToken): string {
  const { client, nonce, connection, now } = session
  const claims = {
    iss: env().PUBLIC_URL,
    aud: client,
    sid: session.sessionId,
    iat: now,
    exp: now + session.tokenSeconds,
    auth_time: session.authenticatedAt,
    ...userClaims(session),
    ...(connection && { connection }),
    ...authenticationClaims(session),
    ...(nonce !== null && { nonce }),
  }

  return signJwt('JWT', claims, env().ID_TOKEN_SIGNING_KEYS!)
}

/** What an ID token states, for a client that presents it as `id_token_hint`. */
export type IdTokenHint = { client: string; userId: string; sessionId: string }

let publicKeys: JWTVerifyGetKey | undefined

/**
 * Returns what an ID token of this service states, also if it has expired, or null. Does
 * not detect ended sessions.
 */
export async function verifyIdToken(token: string): Promise<IdTokenHint | null> {
  const { createLocalJWKSet, jwtVerify } = await import('jose')

  publicKeys ??= createLocalJWKSet({ keys: env().ID_TOKEN_SIGNING_KEYS!.published })

  try {
    const { payload } = await jwtVerify(token, publicKeys, {
      issuer: env().PUBLIC_URL,
      algorithms: ['RS256'],
      typ: 'JWT',
      requiredClaims: ['aud', 'sub', 'sid'],
      currentDate: new Date(0),
    })

    const { aud, sub, sid } = payload
    return { client: String(aud), userId: String(sub), sessionId: String(sid) }
  } catch {
    return null
  }
}
