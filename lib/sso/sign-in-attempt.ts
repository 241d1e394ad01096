import { createHmac } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { sql } from '../database/sql'
import { hashSecret, newSecret } from '../secret'
import { env } from '../settings/env'
import { SignInRejected } from './rejection'

/** The secrets of one sign-in. `state` goes through the browser; the others are derived from it. */
export type AttemptSecrets = { state: string; codeVerifier: string; nonce: string }

/**
 * Starts a sign-in of a browser, valid for `lifetimes.signIn` seconds. `next` is where the user goes
 * afterwards; it must have been validated.
 */
export async function startAttempt(
  connectionId: string,
  browser: string,
  next: string | null,
): Promise<AttemptSecrets> {
  const state = newSecret()
  const { kid } = env().SESSION_SIGNING_KEYS
  await sql`
    INSERT INTO sign_ins (state_hash, connection_id, browser_hash, next, kid, expires_at)
    VALUES (${hashSecret(state)}, ${connectionId}, ${hashSecret(browser)}, ${next}, ${kid},
            now() + make_interval(secs => ${lifetimes.signIn}))`
  return secretsOf(state, kid)
}

type Claimed = AttemptSecrets & { next: string | null }
type Presented = { state: string | null; connectionId: string; browser: string | null }

/**
 * Uses up the sign-in that a browser brings back. Exactly one concurrent call succeeds. Only the
 * browser that started it, at its own connection, can use it up. Throws SignInRejected.
 */
export async function claimAttempt({ state, connectionId, browser }: Presented): Promise<Claimed> {
  if (!state) throw new SignInRejected('state_missing', 'attempt_invalid')
  const stateHash = hashSecret(state)
  const browserHash = browser ? hashSecret(browser) : null
  const [row] = await sql<{ next: string | null; kid: string }>`
    UPDATE sign_ins SET claimed_at = now()
    WHERE state_hash = ${stateHash} AND connection_id = ${connectionId} AND browser_hash = ${browserHash}
      AND claimed_at IS NULL AND expires_at > now()
    RETURNING next, kid`
  if (!row) throw new SignInRejected(await failedCheck(stateHash, connectionId, browserHash), 'attempt_invalid')
  return { ...secretsOf(state, row.kid), next: row.next }
}

/** Names for the log why a claim failed. */
async function failedCheck(
  stateHash: Uint8Array,
  connectionId: string,
  browserHash: Uint8Array | null,
): Promise<string> {
  const [row] = await sql<{ isConnection: boolean; isBrowser: boolean | null; isClaimed: boolean }>`
    SELECT connection_id = ${connectionId} AS "isConnection", browser_hash = ${browserHash} AS "isBrowser",
      claimed_at IS NOT NULL AS "isClaimed"
    FROM sign_ins WHERE state_hash = ${stateHash}`
  if (!row) return 'state_unknown'
  if (!row.isConnection) return 'state_connection'
  if (!row.isBrowser) return 'state_browser'
  return row.isClaimed ? 'state_used' : 'state_expired'
}

/**
 * Derives the secrets of a sign-in from its state, so that the database holds none of them. Throws
 * SignInRejected if the signing key of its start is gone.
 */
function secretsOf(state: string, kid: string): AttemptSecrets {
  const key = env().SESSION_SIGNING_KEYS.signInKeys[kid]
  if (!key) throw new SignInRejected('state_key', 'attempt_invalid')
  const derive = (purpose: string) => createHmac('sha256', key).update(`${purpose}:${state}`).digest('base64url')
  return { state, codeVerifier: derive('code_verifier'), nonce: derive('nonce') }
}
