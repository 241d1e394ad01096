import type { Caller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { ApiError, errors, type Issue } from '../contract/errors'
import { passkeyPromptMs } from '../contract/lifetimes'
import { readUuid } from '../crypto/token'
import { mayUsePassword } from '../database/domain-rules'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { addToOrigin } from '../event/origin'
import { errorCode } from '../log/error-code'
import { log } from '../log/log'
import {
  addKnownBrowser,
  type PasswordSession,
  repeatPasswordSession,
  type SignIn,
  startPasswordSession,
} from '../password/sign-in'
import { decodeBase64url } from './base64url'
import { makeChallenge, readChallenge, signInPurpose } from './challenge'
import {
  type Assertion,
  passkeyDomain,
  readChallengeText,
  type StoredKey,
  verifyAssertion,
} from './webauthn'

/** RFC 8176: proof of possession, presence of the user, and more than one factor. */
const amr = ['pop', 'user', 'mfa']

/**
 * Returns what a browser needs to ask for a passkey, and until when the challenge can be
 * used. It is the same for every user.
 */
export async function makeSignInOptions() {
  const [row] = await prisma().$queryRaw<{ now: number }[]>`
    SELECT extract(epoch FROM now())::float8 AS now`.catch(NothingChanged.rethrow)
  const { challenge, expiresAt } = makeChallenge(row!.now, signInPurpose)

  const options = {
    challenge,
    rpId: passkeyDomain(),
    userVerification: 'required' as const,
    timeout: passkeyPromptMs,
  }

  return { options, expiresAt }
}

/** An assertion, with the handle of the user to whom the passkey belongs. */
type Given = Assertion & { userHandle?: string | undefined }

type Presented = Given & { credentialId: Buffer<ArrayBuffer>; userId: string }

type StoredPasskey = StoredKey & { signCount: number }

/** A passkey that a request presents. `email`: null if the user may not sign in with it. */
type Found = {
  now: number
  isUserKnown: boolean
  email: string | null
  passkey: StoredPasskey | null
  /** Whether the challenge has started a session. */
  isUsed: boolean
}

type Verified = Awaited<ReturnType<typeof verifyAssertion>>
type Counted = Exclude<Verified, Check>

/**
 * Starts the session of a challenge with the assertion of a passkey. If the same browser
 * repeats the request, returns the same session again. Throws as in the contract.
 */
export async function signInWithPasskey(given: Given, caller: Caller): Promise<SignIn> {
  const challenge = readChallengeText(given.clientDataJSON)
  const issued = readChallenge(challenge, signInPurpose)
  if (!issued) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_unknown' })

  const presented = readPresented(given)
  addToOrigin({ userId: presented.userId })
  const found = await findPasskey(presented, issued.id)
  if (found.now >= issued.endsAt)
    throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_expired' })

  const { passkey, email } = found
  const verified = passkey
    ? await verifyAssertion(given, challenge, passkey)
    : 'passkey_unknown'
  const isRejected = typeof verified === 'string'

  if (found.isUsed) {
    const repeated = isRejected
      ? null
      : await repeatSession(issued.id, presented, verified, caller)
    if (repeated) return addKnownBrowser(repeated, email ?? '', caller)
    throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
  }

  if (isRejected) throw invalidPasskey(verified, found)
  if (email === null) throw invalidPasskey('passkey_user')

  const session =
    (await startSession(issued.id, presented, { ...found, email }, verified, caller)) ??
    (await repeatSession(issued.id, presented, verified, caller))
  if (session) return addKnownBrowser(session, email, caller)

  throw await explainUnused(issued.id, presented, verified)
}

/** Throws PASSKEY_INVALID if an ID is malformed, or the handle of the user is missing. */
function readPresented(given: Given): Presented {
  const credentialId = decodeBase64url(given.id)
  const handle = decodeBase64url(given.userHandle ?? '')
  if (!credentialId) throw invalidPasskey('passkey_format')
  if (handle?.length !== 16) throw invalidPasskey('passkey_user')

  return { ...given, credentialId, userId: readUuid(handle.toString('hex')) }
}

async function findPasskey(
  { credentialId, userId }: Pick<Presented, 'credentialId' | 'userId'>,
  sessionId: string,
): Promise<Found> {
  type Row = Omit<Found, 'passkey'> & {
    passkey: { key: string; signCount: number; isBackupEligible: boolean } | null
  }

  const [row] = await prisma().$queryRaw<Row[]>`
    SELECT extract(epoch FROM now())::float8 AS now,
      EXISTS (SELECT FROM users WHERE id = ${userId}::uuid) AS "isUserKnown",
      (SELECT email FROM users WHERE id = ${userId}::uuid AND disabled_at IS NULL AND ${mayUsePassword}) AS email,
      (SELECT json_build_object('key', encode(public_key, 'hex'), 'signCount', sign_count, 'isBackupEligible', backup_eligible)
        FROM passkeys WHERE credential_id = ${credentialId} AND user_id = ${userId}::uuid) AS passkey,
      EXISTS (SELECT FROM sessions WHERE id = ${sessionId}::uuid) AS "isUsed"`.catch(
    NothingChanged.rethrow,
  )

  const { passkey, ...found } = row!
  if (!passkey) return { ...found, passkey: null }

  const { key, ...stored } = passkey
  return { ...found, passkey: { ...stored, publicKey: new Uint8Array(readHex(key)) } }
}

const readHex = (hex: string) => Buffer.from(hex, 'hex')

/**
 * Uses the passkey and starts the session. Returns null if the user or the passkey has
 * changed since it was read, if its counter did not grow, or if the challenge has started
 * a session.
 */
async function startSession(
  sessionId: string,
  { credentialId, userId }: Presented,
  { email, passkey }: Found & { email: string },
  { signCount, isBackedUp }: Counted,
  caller: Caller,
): Promise<PasswordSession | null> {
  const condition = Prisma.sql`
    id = ${userId}::uuid AND email = ${email} AND disabled_at IS NULL AND ${mayUsePassword}`

  // An UPDATE, because a statement that has waited behind a removal finds the row in its
  // snapshot, but can't lock it. Only a passkey of one device must count (Level 3, §6.1.1).
  const spend = Prisma.sql`
    spent AS (
      UPDATE passkeys SET sign_count = greatest(sign_count, ${signCount}::bigint),
        backed_up = ${isBackedUp}, last_used_at = now()
      WHERE credential_id = ${credentialId} AND user_id = (SELECT user_id FROM locked_user)
        AND public_key = ${passkey!.publicKey}
        AND (backup_eligible OR sign_count = 0 AND ${signCount}::bigint = 0 OR ${signCount}::bigint > sign_count)
      RETURNING user_id
    )`

  try {
    return await startPasswordSession(
      sessionId,
      condition,
      amr,
      caller,
      null,
      spend,
      Prisma.sql`'passkey'`,
    )
  } catch (error) {
    // unique_violation: the challenge has already started a session
    if (errorCode(error as Error) === '23505') return null
    throw error
  }
}

/**
 * Returns the session that this challenge has started with the same passkey in this
 * browser, or null. The counter of a passkey of one device must be the stored one.
 */
function repeatSession(
  sessionId: string,
  { credentialId, userId }: Presented,
  { signCount }: Counted,
  caller: Caller,
): Promise<PasswordSession | null> {
  const isSamePasskey = Prisma.sql`user_id = ${userId}::uuid AND method = 'passkey' AND (
    SELECT backup_eligible OR sign_count = ${signCount}::bigint FROM passkeys
    WHERE credential_id = ${credentialId} AND passkeys.user_id = sessions.user_id)`
  return repeatPasswordSession([sessionId], caller, null, isSamePasskey)
}

/** Returns the error for a valid assertion that started no session. */
async function explainUnused(
  sessionId: string,
  presented: Presented,
  { signCount }: Counted,
): Promise<ApiError> {
  const { isUsed, passkey, email, ...found } = await findPasskey(presented, sessionId)
  if (isUsed) return new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
  if (!passkey) return invalidPasskey('passkey_unknown', found)

  const hasNoCounter = signCount === 0 && passkey.signCount === 0
  const isCounted = !passkey.isBackupEligible && !hasNoCounter
  if (email === null || !isCounted || signCount > passkey.signCount)
    return invalidPasskey('passkey_user')

  log.warn(
    { userId: presented.userId },
    'the counter of a passkey did not grow: it may have been copied',
  )
  return invalidPasskey('passkey_counter')
}

/** The causes that the page explains to the user. */
const issues: Partial<Record<Check, Omit<Issue, 'path'>>> = {
  passkey_unknown: {
    code: 'unknown_passkey',
    message: 'This passkey was removed from the account.',
  },
  passkey_user_verification: {
    code: 'user_not_verified',
    message: 'The password manager did not verify the user.',
  },
}

/**
 * Returns the error for a passkey that can't be used. An unknown passkey is named only if
 * its user is known: otherwise, the app may run on a wrong database.
 */
export function invalidPasskey(check: Check, { isUserKnown = true } = {}): ApiError {
  const issue = check !== 'passkey_unknown' || isUserKnown ? issues[check] : undefined

  return new ApiError('PASSKEY_INVALID', {
    ...(issue && {
      message: errors.PASSKEY_INVALID.message,
      issues: [{ ...issue, path: ['credential'] }],
    }),
    check,
  })
}
