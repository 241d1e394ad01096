import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { env } from '@/lib/env'

const route = 'jwks'

/** The public keys of the session JWTs, as a JWK Set (RFC 7517). Cached for five minutes, so publish a new key that long before it signs. */
export const GET = apiRoute(route, async () =>
  Response.json(
    { keys: env().SESSION_SIGNING_KEYS.published },
    { headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300', 'Access-Control-Allow-Origin': '*' } },
  ),
)

const reject = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, reject as DELETE, reject as OPTIONS, reject as PATCH, reject as POST, reject as PUT }
