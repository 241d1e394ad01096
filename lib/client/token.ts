import { randomUUID } from 'node:crypto'
import type { Check } from '../contract/checks'
import { ApiError } from '../contract/errors'
import { hashSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { recordEvents } from '../event/record'
import { log } from '../log/log'
import { explainRefreshToken, isFamilyLive, isUserAllowed } from '../session/find'
import { rotate } from '../session/refresh'
import { revokeSessions } from '../session/revoke'
import {
  insertedColumns,
  type StartedSession,
  sessionEnd,
  startedColumns,
} from '../session/start'
import { issueTokens, type Refresh, type StoredSession } from '../session/tokens'
import { selectAuthenticated } from './client'
import type { Credentials } from './credentials'
import { signIdToken } from './id-token'

/**
 * How long a replay of a code ends no session. Clients that use curl send a request again
 * if a kept-alive connection closes.
 */
const replaySeconds = 10

export type CodeGrant = {
  code: string
  redirectUri: string | null
  verifier: string | null
}

/** The tokens of a client (RFC 6749 §5.1), and whose they are. */
export type ClientTokens = {
  userId: string
  sessionId: string
  accessToken: string
  tokenSeconds: number
  refreshToken: string
  idToken: string
}

/**
 * Exchanges the code of an authorization response, which works once, for the session of a
 * client (RFC 6749 §4.1.3, RFC 7636 §4.6). Throws GRANT_INVALID.
 */
export async function exchangeCode(
  credentials: Credentials,
  grant: CodeGrant,
): Promise<ClientTokens> {
  const sessionId = randomUUID()
  const session = await startWithCode(sessionId, credentials, grant)
  if (!session)
    throw new ApiError('GRANT_INVALID', {
      check: await handleRejected(credentials, grant),
    })

  const { nonce, ...started } = session

  return makeTokens({ sessionId, generation: 0, ...started }, credentials.slug, nonce)
}

/**
 * Renews the tokens of a client (RFC 6749 §6). `presented` is what `readRefreshToken` has
 * read from the token. Throws GRANT_INVALID.
 */
export async function refreshTokens(
  { slug, secret }: Credentials,
  refreshToken: string,
  presented: Refresh | null,
): Promise<ClientTokens> {
  const client = Prisma.sql`(SELECT id FROM (${selectAuthenticated(slug, secret)}) AS authenticated)`
  const isAccepted = Prisma.sql`client_id = ${client} AND ${isFamilyLive}`

  const row = presented && (await rotate(presented, isAccepted, tokenMinutes))
  if (row && !row.reused) return makeTokens(row, slug, null)

  throw new ApiError('GRANT_INVALID', {
    check: row ? 'token_used' : await explainRefreshToken(refreshToken, isAccepted),
  })
}

const tokenMinutes = Prisma.sql`,
  (SELECT token_minutes FROM clients WHERE clients.id = client_id) AS "tokenMinutes"`

function makeTokens(
  session: StoredSession,
  client: string,
  nonce: string | null,
): ClientTokens {
  const { token, tokenSeconds, refreshToken } = issueTokens({ ...session, client })

  return {
    userId: session.userId,
    sessionId: session.sessionId,
    accessToken: token,
    tokenSeconds,
    refreshToken,
    idToken: signIdToken({ ...session, client, nonce, tokenSeconds }),
  }
}

type Row = StartedSession & {
  email: string
  connection: string | null
  nonce: string | null
  tokenMinutes: number | null
}

/** Conditions on a row of `sessions` from which a client gets its own. */
const isRenewable = Prisma.sql`(renewable_until IS NULL OR renewable_until > now())`
const isConnected = Prisma.sql`(connection_id IS NULL
  OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))`

/** Conditions on a code: the client has sent what the authorization request had. */
function isOfRequest({ redirectUri, verifier }: CodeGrant) {
  const challenge = verifier === null ? null : hashSecret(verifier)

  return {
    // OAuth 2.1 §10.2 leaves the redirect URI out, because PKCE replaces it
    isRedirectUri: Prisma.sql`
      coalesce(redirect_uri = ${redirectUri}, code_challenge IS NOT NULL)`,
    isVerified: Prisma.sql`code_challenge IS NOT DISTINCT FROM ${challenge}`,
  }
}

/** What the event of a client's session reads of the statement that starts it. */
const startedEvent = {
  userId: Prisma.sql`user_id`,
  method: Prisma.sql`method`,
  connectionId: Prisma.sql`(SELECT connection_id FROM parent)`,
  clientId: Prisma.sql`(SELECT client_id FROM claimed)`,
}

/**
 * Authenticates the client, claims the code, and starts its session, in one statement.
 * Returns null if that fails.
 */
async function startWithCode(
  sessionId: string,
  { slug, secret }: Credentials,
  grant: CodeGrant,
): Promise<Row | null> {
  const codeHash = hashSecret(grant.code)
  const { isRedirectUri, isVerified } = isOfRequest(grant)

  // Locks in the order user, code, session, as a reset does. FOR SHARE, so that the parent
  // is read again after a sign-out or a reset for which this statement has waited.
  const [row] = await prisma().$queryRaw<Row[]>`
    WITH client AS MATERIALIZED (${selectAuthenticated(slug, secret)}
    ), code AS MATERIALIZED (
      SELECT parent_id FROM authorization_codes
      WHERE code_hash = ${codeHash} AND client_id = (SELECT id FROM client)
    ), locked_user AS MATERIALIZED (
      SELECT id, email FROM users
      WHERE id = (SELECT user_id FROM sessions WHERE sessions.id = (SELECT parent_id FROM code)) AND disabled_at IS NULL
      FOR KEY SHARE
    ), parent AS MATERIALIZED (
      SELECT id, method, connection_id, amr, expires_at, coalesce(authenticated_at, created_at) AS authenticated_at,
        least(expires_at, renewable_until) AS renewable_until
      FROM sessions
      WHERE id = (SELECT parent_id FROM code) AND EXISTS (SELECT FROM locked_user) AND parent_id IS NULL
        AND revoked_at IS NULL AND ${isUnexpired} AND ${isRenewable} AND ${isUserAllowed()} AND ${isConnected}
      FOR SHARE
    ), claimed AS (
      UPDATE authorization_codes SET used_at = now(), session_id = ${sessionId}
      WHERE code_hash = ${codeHash} AND EXISTS (SELECT FROM parent) AND used_at IS NULL AND ${isUnexpired}
        AND ${isRedirectUri} AND ${isVerified}
      RETURNING client_id, nonce
    ), started AS (
      INSERT INTO sessions
        (id, user_id, method, connection_id, renewable_until, parent_id, client_id, amr, expires_at, authenticated_at)
      SELECT ${sessionId}::uuid, locked_user.id, method, connection_id, renewable_until, parent.id, client_id, amr,
        least(${sessionEnd}, expires_at), authenticated_at
      FROM claimed, parent, locked_user
      ON CONFLICT (parent_id, client_id) WHERE parent_id IS NOT NULL DO UPDATE SET
        id = excluded.id, created_at = now(), expires_at = excluded.expires_at, revoked_at = NULL,
        generation = 0, rotated_at = NULL, renewable_until = excluded.renewable_until,
        amr = excluded.amr, authenticated_at = excluded.authenticated_at
      RETURNING ${insertedColumns}
    )${recordEvents('client_signed_in', { ...startedEvent, sessionId }, Prisma.sql`FROM started`)}
    SELECT ${startedColumns}, (SELECT email FROM locked_user) AS email, (SELECT nonce FROM claimed) AS nonce,
      (SELECT slug FROM connections WHERE id = (SELECT connection_id FROM parent)) AS connection,
      (SELECT "tokenMinutes" FROM client) AS "tokenMinutes"
    FROM started`

  return row ?? null
}

type RejectedCode = { sessionId: string | null; revoked: boolean; check: Check }

/**
 * Returns why a code was rejected. If its client presents a used code again with the right
 * verifier, and not at once, ends the session that the code started (RFC 6749 §4.1.2).
 */
async function handleRejected(
  { slug, secret }: Credentials,
  grant: CodeGrant,
): Promise<Check> {
  const { isRedirectUri, isVerified } = isOfRequest(grant)

  // A second statement, because the rejected claim could not see a session that was
  // starting at that time. It is the same for unknown codes.
  const [code] = await prisma().$queryRaw<RejectedCode[]>`
    WITH code AS MATERIALIZED (
      SELECT session_id, parent_id, (client_id = (SELECT id FROM (
          ${selectAuthenticated(slug, secret)}) AS authenticated)) IS TRUE AS is_of_client,
        ${isRedirectUri} AS is_redirect_uri, ${isVerified} AS is_verified,
        used_at IS NOT NULL AS is_used, NOT ${isUnexpired} AS is_expired,
        (used_at > now() - make_interval(secs => ${replaySeconds})) IS TRUE AS is_recent
      FROM authorization_codes WHERE code_hash = ${hashSecret(grant.code)}
    ), parent AS MATERIALIZED (
      SELECT (SELECT disabled_at IS NOT NULL FROM users WHERE users.id = user_id) AS is_disabled,
        ${isConnected} IS NOT TRUE AS is_disconnected, revoked_at IS NOT NULL OR NOT ${isUnexpired} AS has_ended,
        NOT ${isRenewable} AS is_outdated, ${isUserAllowed()} IS NOT TRUE AS is_sso_only
      FROM sessions WHERE id = (SELECT parent_id FROM code)
    ), ${revokeSessions(Prisma.sql`id = (
      SELECT session_id FROM code WHERE is_of_client AND is_redirect_uri AND is_verified AND is_used AND NOT is_recent)`)}
    SELECT session_id AS "sessionId", EXISTS (SELECT FROM revoked) AS revoked,
      CASE WHEN NOT is_of_client THEN 'code_client' WHEN NOT is_redirect_uri THEN 'redirect_uri'
        WHEN NOT is_verified THEN 'code_verifier' WHEN is_used THEN 'code_used' WHEN is_expired THEN 'code_expired'
        WHEN (SELECT is_disabled FROM parent) THEN 'disabled' WHEN (SELECT has_ended FROM parent) IS NOT FALSE THEN 'parent_ended'
        WHEN (SELECT is_disconnected FROM parent) THEN 'connection' WHEN (SELECT is_outdated FROM parent) THEN 'not_renewable'
        WHEN (SELECT is_sso_only FROM parent) THEN 'sso_only' ELSE 'code_changed' END AS check
    FROM code`.catch(NothingChanged.rethrow)

  if (!code) return 'code_unknown'

  const { sessionId, revoked, check } = code
  if (check === 'code_used')
    log.warn(
      { sessionId },
      `an authorization code was reused: its session was ${revoked ? 'revoked' : 'not changed'}`,
    )

  return check
}
