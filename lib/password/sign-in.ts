import { randomUUID } from 'node:crypto'
import { ApiError } from '../contract/errors'
import { NothingChanged } from '../database/nothing-changed'
import { mayUsePassword } from '../database/password-policy'
import { Prisma, prisma } from '../database/prisma'
import { describeCause, log } from '../log'
import { issueTokens, type SessionTokens, type StoredSession } from '../session/issue-tokens'
import { type Holder, startSession } from '../session/start'
import { type Counted, consumeAttempt, refundAttempt, releaseAttempt } from './attempts'
import { type Verified, verifyPassword } from './hash'
import { makeKnownBrowser, readKnownBrowser } from './known-browser'
import { parseEmail } from './parse-email'

/** Who signs in: the network, the browser, and its cookie `__Host-known`. */
export type Client = Holder & { subnet: string; knownBrowser: string | null }

type SignIn = SessionTokens & { userId: string; sessionId: string; knownBrowser: string }
type SignedIn = Pick<StoredSession, 'email' | 'now' | 'endsAt' | 'authenticatedAt' | 'amr'>
type StoredUser = { userId: string; email: string; passwordHash: string }

/**
 * Starts a session for a user who knows the password, and ends the sessions that the browser held
 * before. Throws SIGN_IN_INVALID, whatever the reason and after the same work; RATE_LIMITED after
 * too many attempts, for known and unknown accounts alike; SERVICE_UNAVAILABLE if too many hashes
 * wait; or VALIDATION_ERROR for what is no e-mail address.
 */
export async function signIn(email: string, password: string, client: Client): Promise<SignIn> {
  const emails = parseEmail(email)
  const account = emails[1]
  const browser = await findKnownBrowser(client.knownBrowser, account, emails)
  const attempt = await consumeAttempt({ account, subnet: client.subnet, browser })

  // A second look, because the stored hash can change between its verification and the session: by a
  // reset, which wins, or by a sign-in that raised its cost.
  for (let look = 0; look < 2; look++) {
    const { user, verified } = await verify(emails, password).catch(async (error) => {
      await releaseAttempt(attempt)
      throw error
    })
    if (!user || !verified) break
    const session = await start(user, client, attempt)
    if (!session) continue
    if (verified.upgraded) await upgrade(user, verified.upgraded)
    return { ...session, knownBrowser: makeKnownBrowser(account, browser, session.startedAt) }
  }
  throw new ApiError('SIGN_IN_INVALID')
}

/**
 * Returns the ID of the browser, if the account is known there by its present password: somebody who knew
 * an earlier one must not use up the attempts of the owner's browsers.
 */
export async function findKnownBrowser(
  cookie: string | null,
  account: string,
  emails: string[],
): Promise<string | null> {
  const browser = readKnownBrowser(cookie, account)
  if (!browser) return null
  const changed = await prisma().$executeRaw`
    SELECT 1 FROM users
    WHERE email = ANY (${emails}) AND password_changed_at > to_timestamp(${browser.signedInAt})`.catch(
    NothingChanged.rethrow,
  )
  return changed > 0 ? null : browser.id
}

async function verify(emails: string[], password: string): Promise<{ user?: StoredUser; verified: Verified | null }> {
  const [user] = await prisma().$queryRaw<StoredUser[]>`
    SELECT id AS "userId", email, password_hash AS "passwordHash" FROM users
    WHERE email = ANY (${emails}) AND disabled_at IS NULL AND ${mayUsePassword} AND password_hash IS NOT NULL
    ORDER BY email = ${emails[0]!} DESC LIMIT 1`.catch(NothingChanged.rethrow)
  return { user, verified: await verifyPassword(password, user?.passwordHash ?? null) }
}

/** Starts the session, unless the user was changed since the password was verified. */
async function start({ userId, email, passwordHash }: StoredUser, holder: Holder, attempt: Counted) {
  const sessionId = randomUUID()
  // `claimed` locks the user first, like everything that ends all sessions of a user: of a sign-in
  // and a reset at the same time, the later one sees what the earlier one did.
  const [row] = await prisma().$queryRaw<SignedIn[]>`
    WITH claimed AS MATERIALIZED (
      SELECT id AS user_id, email, 'password' AS method, NULL::uuid AS connection_id,
        NULL::timestamptz AS renewable_until, NULL::uuid AS parent_id, NULL AS redirect_uri, ARRAY['pwd'] AS amr
      FROM users
      WHERE id = ${userId} AND email = ${email} AND password_hash = ${passwordHash} AND disabled_at IS NULL
        AND ${mayUsePassword}
      FOR KEY SHARE
    ), ${startSession(sessionId, holder)},
    ${refundAttempt(attempt, Prisma.sql`EXISTS (SELECT FROM claimed)`)}
    SELECT (SELECT email FROM claimed) AS email, now, ends_at AS "endsAt", authenticated_at AS "authenticatedAt", amr
    FROM started`
  if (!row) return null
  // A statement of its own: that one may have waited for the user, and not seen a connection that was added meanwhile.
  const isForbidden = await prisma().$executeRaw`
    UPDATE sessions SET revoked_at = now()
    WHERE id = ${sessionId} AND (SELECT ${mayUsePassword} FROM users WHERE users.id = user_id) IS NOT TRUE`
  if (isForbidden) return null
  return {
    ...issueTokens({ sessionId, userId, connection: null, generation: 0, ...row }),
    userId,
    sessionId,
    startedAt: row.now,
  }
}

/** Replaces a hash with one of a higher cost, unless a reset was faster. */
async function upgrade({ userId, passwordHash }: StoredUser, upgraded: string): Promise<void> {
  const statement = prisma().$executeRaw`
    UPDATE users SET password_hash = ${upgraded} WHERE id = ${userId} AND password_hash = ${passwordHash}`
  await statement.catch((error) => {
    log.warn({ userId, cause: describeCause(error) }, 'the cost of a password hash could not be raised')
  })
}
