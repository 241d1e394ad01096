import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import type { ServerMetadata } from 'openid-client'
import { clockToleranceSeconds } from '../clock'
import type { OidcConnection } from '../connection'
import { SignInRejected } from '../rejection'
import { fetchKeysOf, loadDiscovery } from './discovery'
import { readProviderSession } from './sign-in'

const maxAgeSeconds = 10 * 60
const timeoutMs = 5_000
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
const asymmetric = /^(RS|PS|ES)(256|384|512)$|^(EdDSA|Ed25519)$/

/** Who has to be signed out. At least one of both is not null. `issuedAt`: in seconds. */
export type ProviderLogout = {
  issuer: string
  subject: string | null
  providerSession: string | null
  issuedAt: number
}

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout §2.6). Throws SignInRejected:
 * `response_invalid` if the token is, otherwise the keys or the metadata can't be fetched.
 */
export async function verifyLogoutToken(
  connection: OidcConnection,
  token: string | null,
): Promise<ProviderLogout> {
  if (!token) throw invalid('logout_missing')

  const { metadata } = await loadDiscovery(connection)
  const claims = await verify(connection, metadata, token)
  const { iss, sub, sid, iat, jti, nonce, events } = claims

  const now = Date.now() / 1000
  if (typeof iat !== 'number' || iat > now + clockToleranceSeconds)
    throw invalid('logout_iat')
  if (iat < now - maxAgeSeconds) throw invalid('logout_iat')
  if (typeof jti !== 'string') throw invalid('logout_jti')
  if (nonce !== undefined) throw invalid('logout_nonce') // an ID token
  if (!isLogout(events)) throw invalid('logout_events')

  const subject = readProviderSession(sub) // the same characters are allowed
  const providerSession = readProviderSession(sid)
  if (subject === null && providerSession === null) throw invalid('logout_subject')

  return { issuer: iss!, subject, providerSession, issuedAt: Math.floor(iat) }
}

function invalid(check: string, cause?: unknown): SignInRejected {
  return new SignInRejected(check, 'response_invalid', cause)
}

function isLogout(events: unknown): boolean {
  if (typeof events !== 'object' || events === null) return false
  if (!Object.hasOwn(events, logoutEvent)) return false

  const event = (events as Record<string, unknown>)[logoutEvent]
  return typeof event === 'object' && event !== null
}

async function verify(
  connection: OidcConnection,
  metadata: ServerMetadata,
  token: string,
): Promise<JWTPayload> {
  const { jwtVerify } = await import('jose')
  const { issuer, id_token_signing_alg_values_supported: announced } = metadata
  const algorithms = (announced ?? ['RS256']).filter((each) => asymmetric.test(each))
  const keys = await findKeys(connection, metadata)

  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: connection.settings.clientId,
      algorithms,
      clockTolerance: clockToleranceSeconds,
    })
    return payload
  } catch (error) {
    if (error instanceof SignInRejected) throw error
    throw invalid(readCheck(error as JoseError), error)
  }
}

type JoseError = Error & { code?: string; claim?: string }

const checksByCode: Record<string, string> = {
  ERR_JWT_EXPIRED: 'logout_exp',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'logout_signature',
  ERR_JWKS_NO_MATCHING_KEY: 'logout_key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'logout_key',
  ERR_JOSE_ALG_NOT_ALLOWED: 'logout_alg',
  ERR_JOSE_NOT_SUPPORTED: 'logout_alg',
}
const checksByClaim: Record<string, string> = {
  iss: 'logout_iss',
  aud: 'logout_aud',
  iat: 'logout_iat',
}

function readCheck({ code = '', claim = '' }: JoseError): string {
  return checksByClaim[claim] ?? checksByCode[code] ?? 'logout_format'
}

const keySets = new Map<string, JWTVerifyGetKey>() // by connection and URL

/**
 * Returns the keys of a provider. They are fetched again after ten minutes, and at most every
 * 30 seconds for an unknown key: anybody can send a token with one.
 */
async function findKeys(
  connection: OidcConnection,
  { jwks_uri: url }: ServerMetadata,
): Promise<JWTVerifyGetKey> {
  const name = `${connection.id} ${url}`
  const known = keySets.get(name)
  if (known) return known

  const { createRemoteJWKSet, customFetch } = await import('jose')
  const fetchKeys = fetchKeysOf(connection)
  const created = createRemoteJWKSet(new URL(url!), {
    timeoutDuration: timeoutMs,
    [customFetch]: (target: string, { signal }: { signal: AbortSignal }) =>
      fetchKeys(target, { method: 'GET', signal }),
  })
  keySets.set(name, created)

  return created
}
