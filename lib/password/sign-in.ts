import { randomUUID } from 'node:crypto'
import type { Caller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { emailForms, parseEmail } from '../contract/email-address'
import {
  ApiError,
  type Challenge,
  setUpMessage,
  usePasskeyMessage,
  wrongPasswordMessage,
} from '../contract/errors'
import { mayUsePassword } from '../database/domain-rules'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { withEvents } from '../event/record'
import { errorCode } from '../log/error-code'
import { describeCause, log } from '../log/log'
import { makeChallenge } from '../second-factor/challenge'
import { findFactor, findSteps } from '../second-factor/find'
import type { LiveSession } from '../session/find'
import { findRepeated, hashBrowser, identifyRepetition } from '../session/repetition'
import {
  claimedColumns,
  type StartedSession,
  startedColumns,
  startSession,
} from '../session/start'
import { issueTokens, type SessionTokens } from '../session/tokens'
import { env } from '../settings/env'
import { type Counted, consumeAttempt, refundAttempt, releaseAttempt } from './attempts'
import { isVerifiable, verifyPassword } from './hash'
import { makeKnownBrowser, readKnownBrowser } from './known-browser'

export type SignIn = SessionTokens & {
  userId: string
  sessionId: string
  /** Whether an earlier request has started the session. */
  isRepeated: boolean
  knownBrowser: string
}
type StoredUser = {
  userId: string
  email: string
  passwordHash: string
  hasSecondFactor: boolean
}

/** `check`: why the user may not use a password, or null. */
type FoundUser = Omit<StoredUser, 'passwordHash'> &
  ({ passwordHash: string; check: null } | { passwordHash: string | null; check: Check })

/**
 * Starts a session. Throws as in the contract. A failure takes the same work whether or
 * not the user exists.
 */
export async function signIn(
  email: string,
  password: string,
  caller: Caller,
): Promise<SignIn> {
  const emails = parseEmail(email)
  const tried = await identifyAttempt(emails[1], emails, caller)
  const attempt = await consumeAttempt(tried)

  // Tries twice, because a reset, or a concurrent sign-in that upgrades the hash, may
  // have changed the hash meanwhile.
  for (let look = 0; look < 2; look++) {
    const user = await verify(emails, password, attempt)
    if (typeof user === 'string') throw new ApiError('SIGN_IN_INVALID', { check: user })

    if (user.hasSecondFactor || env().SECOND_FACTOR === 'required') {
      const challenge = await challengeUser(user)
      if (!challenge) continue

      if (user.upgraded) await upgrade(user, user.upgraded)
      await releaseAttempt(attempt)
      throw secondFactorRequired(challenge)
    }

    const session = await startOrRepeat(user, caller, attempt)
    if (!session) continue

    if (user.upgraded) await upgrade(user, user.upgraded)
    const { account, browser } = tried
    const knownBrowser = makeKnownBrowser(account, browser, session.startedAt)

    return { ...session, knownBrowser }
  }

  throw new ApiError('SIGN_IN_INVALID', { check: 'user_changed' })
}

/**
 * Returns what an attempt is counted by. A browser is recognized if it has signed in with
 * the current password.
 */
export async function identifyAttempt(
  account: string,
  emails: string[],
  { network, knownBrowser }: Caller,
) {
  const known = readKnownBrowser(knownBrowser, account)
  if (!known) return { account, network, browser: null }

  const changed = await prisma().$executeRaw`
    SELECT 1 FROM users WHERE email = ANY (${emails})
      AND password_changed_at > to_timestamp(${known.signedInAt})`.catch(
    NothingChanged.rethrow,
  )

  return { account, network, browser: changed ? null : known.id }
}

/**
 * Returns the user if the password is correct, otherwise the reason. Releases the attempt
 * after an error.
 */
async function verify(
  emails: string[],
  password: string,
  attempt: Counted,
): Promise<(StoredUser & { upgraded: string | null }) | Check> {
  try {
    const user = await findUser(emails)

    // The same work for every reason, and the statement is the same too.
    const hash = user?.check === null ? user.passwordHash : null
    const verified = await verifyPassword(password, hash)

    if (!user) return 'unknown_user'
    if (user.check !== null) return user.check
    if (!verified)
      return isVerifiable(user.passwordHash) ? 'wrong_password' : 'unknown_hash'

    return { ...user, ...verified }
  } catch (error) {
    await releaseAttempt(attempt)
    throw error
  }
}

/** Returns the user with one of these addresses, preferably one who may use a password. */
async function findUser(emails: string[]): Promise<FoundUser | null> {
  const [user] = await prisma().$queryRaw<FoundUser[]>`
    SELECT * FROM (
      SELECT id AS "userId", email, password_hash AS "passwordHash", second_factor_at IS NOT NULL AS "hasSecondFactor",
        CASE WHEN disabled_at IS NOT NULL THEN 'disabled' WHEN NOT ${mayUsePassword} THEN 'sso_only'
          WHEN password_hash IS NULL THEN 'no_password' END AS "check"
      FROM users WHERE email = ANY (${emails})
    ) AS found
    ORDER BY "check" IS NULL DESC, email = ${emails[0]!} DESC LIMIT 1`.catch(
    NothingChanged.rethrow,
  )

  return user ?? null
}

/** Returns the error for a right password that needs a second step. */
function secondFactorRequired(challenge: Challenge): ApiError {
  const { methods, setUp } = challenge
  const isPasskey = methods.length === 1 && methods[0] === 'passkey'
  const message = setUp ? setUpMessage : isPasskey ? usePasskeyMessage : undefined

  return new ApiError('SECOND_FACTOR_REQUIRED', {
    challenge,
    check: 'second_factor',
    ...(message && { message }),
  })
}

/**
 * Returns the challenge for the second step, unless the user was changed since the
 * password was verified.
 */
async function challengeUser({
  userId,
  passwordHash,
}: StoredUser): Promise<Challenge | undefined> {
  const user = await findFactor(userId)
  const isSame = user?.passwordHash === passwordHash
  return user && isSame && findSteps(user) ? makeChallenge(user) : undefined
}

/**
 * Verifies the password of a signed-in user, and returns its hash. A wrong password counts
 * as an attempt to sign in. Throws like `signIn`.
 */
export async function checkPassword(
  session: LiveSession,
  password: string,
  caller: Caller,
): Promise<string> {
  const { attempt, passwordHash, check } = await tryPassword(session, password, caller)
  if (passwordHash === null) throw wrongPassword(check)

  await releaseAttempt(attempt)

  return passwordHash
}

type TriedPassword = { attempt: Counted } & (
  | { passwordHash: string; check: null }
  | { passwordHash: null; check: Check }
)

/**
 * Counts an attempt, and verifies the password of a signed-in user. Returns the hash of a
 * correct password, otherwise the reason. The caller releases the attempt.
 */
export async function tryPassword(
  { userId, email }: LiveSession,
  password: string,
  caller: Caller,
): Promise<TriedPassword> {
  const tried = await identifyAttempt(readAccount(email), [email], caller)
  const attempt = await consumeAttempt(tried)

  const user = await verify([email], password, attempt)
  if (typeof user === 'string') return { attempt, passwordHash: null, check: user }
  if (user.userId !== userId)
    return { attempt, passwordHash: null, check: 'user_changed' }

  return { attempt, passwordHash: user.passwordHash, check: null }
}

/** Returns the error for a wrong password of a signed-in user. */
export function wrongPassword(check: Check): ApiError {
  return new ApiError('SIGN_IN_INVALID', { message: wrongPasswordMessage, check })
}

/**
 * Returns the form of an email address by which attempts are counted. An invalid imported
 * address is not converted.
 */
export function readAccount(email: string): string {
  return emailForms(email)?.[1] ?? email
}

/**
 * Starts the session, or finds the session that the same request has started. Returns
 * null if the user was changed since the password was verified.
 */
async function startOrRepeat(user: StoredUser, caller: Caller, attempt: Counted) {
  const repetition = identifyRepetition('sign-in', user.userId, caller)
  if (!repetition) return start(randomUUID(), user, caller, attempt)

  const { id, ids } = repetition
  const repeated = await repeatPasswordSession(ids, caller, attempt)
  if (repeated) return repeated

  try {
    return await start(id, user, caller, attempt)
  } catch (error) {
    // unique_violation: the same request is processed at the same time, or its session
    // can't be returned any more
    if (errorCode(error as Error) !== '23505') throw error
  }

  return (
    (await repeatPasswordSession(ids, caller, attempt)) ??
    start(randomUUID(), user, caller, attempt)
  )
}

/**
 * Returns the session that the same request has started, and releases the attempt, if
 * any. Otherwise, returns null. The parameters are those of `findRepeated`.
 */
export async function repeatPasswordSession(
  ids: string[],
  caller: Caller,
  attempt: Counted | null,
  isAnswered?: Prisma.Sql,
): Promise<PasswordSession | null> {
  const session = await findRepeated(ids, caller, isAnswered)
  if (!session) return null

  if (attempt) await releaseAttempt(attempt)
  const { userId, sessionId, now } = session

  return { ...issueTokens(session), userId, sessionId, isRepeated: true, startedAt: now }
}

/** Starts the session, unless the user was changed since the password was verified. */
function start(
  sessionId: string,
  { userId, email, passwordHash }: StoredUser,
  caller: Caller,
  attempt: Counted,
) {
  const condition = Prisma.sql`
    id = ${userId} AND email = ${email} AND password_hash = ${passwordHash} AND disabled_at IS NULL
    AND second_factor_at IS NULL AND ${mayUsePassword}`
  return startPasswordSession(sessionId, condition, ['pwd'], caller, attempt)
}

/**
 * Adds the cookie by which the browser has its own attempts with the password. `email`: the
 * address of the session's user.
 */
export async function addKnownBrowser(
  session: PasswordSession,
  email: string,
  caller: Caller,
): Promise<SignIn> {
  const account = readAccount(email)
  const { browser } = await identifyAttempt(account, [email], caller)

  return {
    ...session,
    knownBrowser: makeKnownBrowser(account, browser, session.startedAt),
  }
}

/** `startedAt`: in seconds since 1970. */
export type PasswordSession = Omit<SignIn, 'knownBrowser'> & { startedAt: number }

/**
 * Starts a session of the user who meets `condition` and is in the CTE `spent (user_id)`.
 * Otherwise, returns null. `attempt`: what a success gives back. `method`: how the user
 * signs in, an SQL expression.
 */
export async function startPasswordSession(
  sessionId: string,
  condition: Prisma.Sql,
  amr: string[],
  caller: Caller,
  attempt: Counted | null,
  spend = Prisma.sql`spent AS (SELECT user_id FROM locked_user)`,
  method = Prisma.sql`'password'`,
): Promise<PasswordSession | null> {
  const claimed = claimedColumns({
    userId: Prisma.sql`user_id`,
    method,
    amr: Prisma.sql`${amr}`,
  })
  const refund = attempt
    ? Prisma.sql`, ${refundAttempt(attempt, Prisma.sql`EXISTS (SELECT FROM claimed)`)}`
    : Prisma.empty

  const heldIds = await caller.sessionIds

  // Locks the user's row first, as a reset does. If both run concurrently, the later sees
  // the changes of the earlier.
  const [row] = await prisma().$queryRaw<(StartedSession & { email: string })[]>`
    WITH locked_user AS MATERIALIZED (
      SELECT id AS user_id, email FROM users WHERE ${condition} FOR KEY SHARE
    ), ${spend}, claimed AS MATERIALIZED (
      SELECT email, ${claimed} FROM locked_user WHERE user_id = (SELECT user_id FROM spent)
    ), ${startSession(sessionId, heldIds, caller.device, hashBrowser(caller))}${refund}
    SELECT ${startedColumns}, (SELECT email FROM claimed) AS email FROM started`

  if (!row || (await endIfForbidden(sessionId, row.userId))) return null

  const tokens = issueTokens({ sessionId, connection: null, generation: 0, ...row })

  const { userId, now } = row

  return { ...tokens, userId, sessionId, isRepeated: false, startedAt: now }
}

/**
 * Ends a session that has just started if its user may not use a password any more. Returns
 * whether it did.
 */
export async function endIfForbidden(
  sessionId: string,
  userId: string,
): Promise<boolean> {
  // A second statement, because the first may have waited for the lock, and can't see a
  // connection added meanwhile.
  const revocation = Prisma.sql`
    UPDATE sessions SET revoked_at = now()
    WHERE id = ${sessionId} AND (SELECT ${mayUsePassword} FROM users WHERE users.id = user_id) IS NOT TRUE`
  const ended = { userId, sessionId }
  const count = await prisma().$executeRaw(withEvents(revocation, 'session_ended', ended))

  return count > 0
}

async function upgrade(
  { userId, passwordHash }: StoredUser,
  upgraded: string,
): Promise<void> {
  try {
    await prisma().$executeRaw`
      UPDATE users SET password_hash = ${upgraded} WHERE id = ${userId} AND password_hash = ${passwordHash}`
  } catch (error) {
    log.warn(
      { userId, cause: describeCause(error) },
      'the cost of a password hash could not be raised',
    )
  }
}
