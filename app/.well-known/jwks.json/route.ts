import { env } from '@/lib/env'

export const dynamic = 'force-dynamic'

/** The public keys of the session JWTs, as a JWK Set (RFC 7517). Cached for five minutes, so publish a new key that long before it signs. */
export function GET(): Response {
  return Response.json(
    { keys: env().SESSION_SIGNING_KEYS.published },
    { headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300', 'Access-Control-Allow-Origin': '*' } },
  )
}
