import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { prisma } from '../database/prisma'
import type { AuthorizationRequest } from './authorization-request'

/**
 * Issues a code with which a client gets a session, valid for `lifetimes.code` seconds.
 * Returns null if `sessionId`, the session of the browser, has ended.
 */
export async function issueAuthorizationCode(
  sessionId: string,
  clientId: string,
  redirectUri: string,
  { challenge, nonce }: AuthorizationRequest,
): Promise<string | null> {
  const code = newSecret()
  const issued = await prisma().$executeRaw`
    INSERT INTO authorization_codes (code_hash, client_id, parent_id, redirect_uri, code_challenge, nonce, expires_at)
    SELECT ${hashSecret(code)}, ${clientId}::uuid, id, ${redirectUri}, ${challenge}, ${nonce},
      now() + make_interval(secs => ${lifetimes.code})
    FROM sessions
    WHERE id = ${sessionId} AND parent_id IS NULL AND revoked_at IS NULL AND ${isUnexpired}
      AND (renewable_until IS NULL OR renewable_until > now())`

  return issued === 1 ? code : null
}
