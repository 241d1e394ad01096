import { createHmac } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { deleteExpired } from '../database/clean-up'
import { isUnexpired } from '../database/conditions'
import { Prisma, prisma } from '../database/prisma'
import { env } from '../settings/env'
import { SignInRejected } from './rejection'

/**
 * The secrets of one sign-in. The browser transports `state`. The others are derived from
 * it.
 */
export type AttemptSecrets = ReturnType<typeof deriveSecrets>

// A provider whose responses never refer to our request would cause a loop of starts.
const unsolicitedPerMinute = 3

/**
 * Starts a sign-in of a browser, valid for `lifetimes.signIn` seconds. `next` must have
 * been validated. A test (`isTest`) signs nobody in. `setupLinkId`: the setup link that
 * began it, if any.
 */
export async function startAttempt(
  { id, settings }: { id: string; settings: { issuer: string } },
  browser: string,
  next: string | null,
  isTest = false,
  setupLinkId?: string,
) {
  const state = newSecret()
  const { kid } = env().SESSION_SIGNING_KEYS

  await prisma().$executeRaw`
    INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, next, kid, is_try, issuer, setup_link_id, expires_at)
    VALUES (${hashSecret(state)}, ${id}, ${hashSecret(browser)}, ${next}, ${kid}, ${isTest}, ${settings.issuer},
            ${setupLinkId ?? null}::uuid, now() + make_interval(secs => ${lifetimes.signIn}))`

  deleteExpired('sso_attempts', 4).catch(() => {}) // a later start deletes the rest

  return deriveSecrets(state, kid)
}

/**
 * Throws SignInRejected if a browser has just begun several sign-ins without a response.
 * Call it before a start.
 */
export async function rejectLoop(connectionId: string, browser: string): Promise<void> {
  const [row] = await prisma().$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM sso_attempts
      WHERE connection_id = ${connectionId} AND browser_hash = ${hashSecret(browser)} AND claimed_at IS NULL
        AND created_at > now() - interval '1 minute'
      LIMIT ${unsolicitedPerMinute}
    ) AS recent`

  if (row!.count >= unsolicitedPerMinute)
    throw new SignInRejected('unsolicited_loop', 'response_invalid')
}

type Presented = {
  state: string | null
  connectionId: string
  browser: string | null
  testBrowser?: string | null // the ID of the browser for tests, which have their own
  mayLackCookies?: boolean // for a cross-site POST. Then bind the code to `browserHash`.
  onlyTests?: boolean // because the connection is disabled. The reason is then inexact.
}

/** A claimed sign-in. `issuer` is that of the connection when it began, if known. */
export type ClaimedAttempt = Awaited<ReturnType<typeof claimAttempt>>

/**
 * Uses up a sign-in. Throws SignInRejected if it is invalid, or if the browser or the
 * connection is not the same.
 */
export async function claimAttempt({
  state,
  connectionId,
  browser,
  testBrowser = null,
  mayLackCookies,
  onlyTests = false,
}: Presented) {
  if (!state) throw new SignInRejected('state_missing', 'attempt_invalid')

  const stateHash = hashSecret(state)
  const isBrowser = matchBrowser(browser, testBrowser, mayLackCookies)
  const isAllowed = onlyTests ? Prisma.sql`AND is_try` : Prisma.empty

  const [row] = await prisma().$queryRaw<ClaimedRow[]>`
    UPDATE sso_attempts SET claimed_at = now()
    WHERE state_hash = ${stateHash} AND connection_id = ${connectionId} AND ${isBrowser}
      AND claimed_at IS NULL AND ${isUnexpired} ${isAllowed}
    RETURNING next, kid, browser_hash AS "browserHash", is_try AS "isTest", issuer,
      setup_link_id AS "setupLinkId"`

  if (!row) throw await explainRejection(stateHash, connectionId, isBrowser)

  const { kid, ...stored } = row

  return { ...deriveSecrets(state, kid), ...stored }
}

type ClaimedRow = {
  next: string | null
  kid: string
  browserHash: Uint8Array
  isTest: boolean
  issuer: string | null
  setupLinkId: string | null
}

/** A condition on an attempt: whether this browser began it. */
function matchBrowser(
  browser: string | null,
  testBrowser: string | null,
  mayLackCookies = false,
): Prisma.Sql {
  const browserHash = browser ? hashSecret(browser) : null
  if (mayLackCookies && browserHash === null) return Prisma.sql`true`
  if (testBrowser === null) return Prisma.sql`(browser_hash = ${browserHash}) IS TRUE`

  const testHash = hashSecret(testBrowser)
  return Prisma.sql`(browser_hash = ${browserHash} OR is_try AND browser_hash = ${testHash}) IS TRUE`
}

/** Returns an error with the reason why a claim failed, and the destination if this browser began the sign-in. */
async function explainRejection(
  stateHash: Uint8Array,
  connectionId: string,
  isBrowser: Prisma.Sql,
) {
  const [row] = await prisma().$queryRaw<
    { check: string; next: string | null; isTest: boolean }[]
  >`
    SELECT CASE WHEN connection_id <> ${connectionId} THEN 'state_connection'
        WHEN is_try AND claimed_at IS NOT NULL THEN 'state_used' WHEN NOT ${isBrowser} THEN 'state_browser'
        WHEN claimed_at IS NOT NULL THEN 'state_used' ELSE 'state_expired' END AS check,
      CASE WHEN connection_id = ${connectionId} AND ${isBrowser} THEN next END AS next, is_try AS "isTest"
    FROM sso_attempts WHERE state_hash = ${stateHash}`

  const rejection = new SignInRejected(row?.check ?? 'state_unknown', 'attempt_invalid')
  rejection.next = row?.next ?? null
  rejection.isTest = row?.isTest ?? false

  return rejection
}

/**
 * Derives the secrets of a sign-in, which are not stored. Throws SignInRejected if their
 * signing key was removed.
 */
function deriveSecrets(state: string, kid: string) {
  const key = env().SESSION_SIGNING_KEYS.signInKeys[kid]
  if (!key) throw new SignInRejected('state_key', 'attempt_invalid')

  const derive = (purpose: string) =>
    createHmac('sha256', key).update(`${purpose}:${state}`).digest('base64url')

  return {
    state,
    codeVerifier: derive('code_verifier'),
    nonce: derive('nonce'),
    requestId: `_${derive('request_id')}`, // for SAML. An XML name begins with no digit.
  }
}
