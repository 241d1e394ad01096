import { signJwt } from '../crypto/token'
import type { StoredSession } from '../session/tokens'
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
  const { client, nonce, connection, amr, now } = session
  const claims = {
    iss: env().PUBLIC_URL,
    aud: client,
    sid: session.sessionId,
    iat: now,
    exp: now + session.tokenSeconds,
    auth_time: session.authenticatedAt,
    ...userClaims(session),
    ...(connection && { connection }),
    ...(amr && { amr }),
    ...(nonce !== null && { nonce }),
  }

  return signJwt('JWT', claims, env().ID_TOKEN_SIGNING_KEYS!)
}
