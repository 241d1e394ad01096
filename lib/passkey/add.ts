import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { maxPasskeys, passkeyPromptMs } from '../contract/lifetimes'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma, transaction } from '../database/prisma'
import { recordEvents } from '../event/record'
import { notice } from '../mail/outbox'
import { hashRecoveryCode, newRecoveryCodes } from '../second-factor/codes'
import { findFactor, isUnchanged, type UserWithFactor } from '../second-factor/find'
import type { LiveSession } from '../session/find'
import { repetitionSeconds } from '../session/repetition'
import { endAllSessions, lockUsers } from '../session/revoke'
import { env } from '../settings/env'
import { makeChallenge, readChallenge, registrationPurpose } from './challenge'
import { findPasskeys, makeUserHandle, type Passkey } from './list'
import { invalidPasskey } from './sign-in'
import {
  type Attestation,
  algorithms,
  passkeyDomain,
  type Registration,
  readChallengeText,
  readRegistration,
} from './webauthn'

/** `AuthenticatorTransport` of WebAuthn Level 3, §5.8.4. */
const knownTransports = ['ble', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/** Whose passkey it is: a live session, or the one that a set-up starts. */
type Owner = Pick<LiveSession, 'userId' | 'sessionId'>

/** What a browser needs to create a passkey, and until when the challenge can be used. */
export type StartedRegistration = {
  options: ReturnType<typeof makeOptions>
  expiresAt: string
}

/**
 * Returns what a browser needs to create a passkey of a session's user. Throws
 * PASSKEY_CONFLICT.
 */
export async function startRegistration(
  session: LiveSession,
): Promise<StartedRegistration> {
  const user = await findFactor(session.userId)
  if (!user) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })

  const existing = await prisma().passkey.findMany({
    where: { userId: user.userId },
    select: { credentialId: true, transports: true },
  })
  if (existing.length >= maxPasskeys)
    throw new ApiError('PASSKEY_CONFLICT', { check: 'passkey_limit' })

  return makeRegistration(user, session, existing)
}

/**
 * Returns what a browser needs to create a passkey. `existing`: the passkeys that the user
 * has.
 */
export function makeRegistration(
  user: UserWithFactor,
  owner: Owner,
  existing: Parameters<typeof makeOptions>[2] = [],
): StartedRegistration {
  const purpose = registrationPurpose(owner, user)
  const { challenge, expiresAt } = makeChallenge(user.now, purpose)

  return { options: makeOptions(challenge, user, existing), expiresAt }
}

function makeOptions(
  challenge: string,
  { userId, email }: UserWithFactor,
  existing: { credentialId: Uint8Array; transports: string[] }[],
) {
  const excludeCredentials = existing.map(({ credentialId, transports }) => ({
    type: 'public-key' as const,
    id: Buffer.from(credentialId).toString('base64url'),
    transports,
  }))

  return {
    challenge,
    rp: { id: passkeyDomain(), name: env().APP_NAME },
    user: { id: makeUserHandle(userId), name: email, displayName: email },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
    excludeCredentials,
    authenticatorSelection: {
      residentKey: 'required' as const,
      requireResidentKey: true as const,
      userVerification: 'required' as const,
    },
    attestation: 'none' as const,
    timeout: passkeyPromptMs,
  }
}

export type Given = Attestation & { transports?: string[] | undefined }

/** `recoveryCodes`: only if this passkey is the first second factor that is required. */
type Added = { passkey: Passkey; recoveryCodes?: string[] }

/**
 * Stores the passkey that a browser has created for a challenge of this session, and
 * queues a notice. If a second factor is required and the user has no recovery codes yet,
 * returns them: from then on, the password alone starts no session. If the session has just
 * stored the passkey, does nothing. Throws as in the contract.
 */
export async function addPasskey(
  session: LiveSession,
  given: Given,
  caller: Caller,
): Promise<Added> {
  const user = await findFactor(session.userId)
  if (!user) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })

  const repeated = await repeatFirst(session, user, given)
  if (repeated) return repeated

  const passkey = await readNewPasskey(session, user, given)
  const recoveryCodes = isFirstRequired(user) ? newRecoveryCodes() : null
  const added = await insert(passkey, user, session, recoveryCodes, caller)
  if (!added) await requireRepetition(passkey, user)

  const [stored] = await findPasskeys(user.userId, passkey.id)
  if (!stored) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })
  if (recoveryCodes === null) return { passkey: stored }

  return { passkey: stored, recoveryCodes: added ? recoveryCodes : [] }
}

/** Whether a passkey is the first factor of a user who has to have one. */
const isFirstRequired = ({ enabledAt }: UserWithFactor) =>
  env().SECOND_FACTOR === 'required' && enabledAt === null

/**
 * Returns the passkey if the same request has just stored it as the first required factor,
 * which has changed the purpose of its challenge. Otherwise null.
 */
async function repeatFirst(
  session: LiveSession,
  user: UserWithFactor,
  given: Given,
): Promise<Added | null> {
  if (env().SECOND_FACTOR !== 'required' || user.enabledAt === null) return null

  const before = { ...user, enabledAt: null }
  const challenge = readChallengeText(given.clientDataJSON)
  if (!readChallenge(challenge, registrationPurpose(session, before))) return null

  const passkey = await readNewPasskey(session, before, given)
  const { isRepeated } = await findState(passkey, user)
  const [stored] = isRepeated ? await findPasskeys(user.userId, passkey.id) : []

  return stored ? { passkey: stored, recoveryCodes: [] } : null
}

/**
 * Verifies the passkey that a browser has created for a challenge of this owner. Throws
 * CHALLENGE_INVALID and PASSKEY_INVALID.
 */
export async function readNewPasskey(
  owner: Owner,
  user: UserWithFactor,
  given: Given,
): Promise<NewPasskey> {
  const challenge = readChallengeText(given.clientDataJSON)
  const issued = readChallenge(challenge, registrationPurpose(owner, user))
  if (!issued) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_unknown' })
  if (user.now >= issued.endsAt)
    throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_expired' })

  const registration = await readRegistration(given, challenge)
  if (typeof registration === 'string') throw invalidPasskey(registration)

  const transports = knownTransports.filter((name) => given.transports?.includes(name))

  return { id: issued.id, transports, ...registration }
}

export type NewPasskey = Registration & { id: string; transports: string[] }

/**
 * Returns a statement that inserts a passkey of the user who meets `condition`, and returns
 * `user_id`. It inserts none if the passkey or its ID exists.
 */
export function insertPasskey(
  passkey: NewPasskey,
  condition: Prisma.Sql,
  { device }: Caller,
): Prisma.Sql {
  const { id, credentialId, publicKey, signCount, aaguid, transports } = passkey
  const { isBackupEligible, isBackedUp } = passkey

  return Prisma.sql`
    INSERT INTO passkeys (credential_id, id, user_id, public_key, sign_count, backup_eligible, backed_up, transports, aaguid, device)
    SELECT ${credentialId}, ${id}::uuid, id, ${publicKey}, ${signCount}::bigint, ${isBackupEligible}, ${isBackedUp},
      ${transports}::text[], ${aaguid}::uuid, ${device}
    FROM users WHERE ${condition}
    ON CONFLICT DO NOTHING
    RETURNING user_id`
}

/**
 * Stores a passkey, with recovery codes if it is the first required factor. Returns 0 if it
 * or its ID exists, if the user has changed or has too many, or if the session has ended.
 */
async function insert(
  passkey: NewPasskey,
  user: UserWithFactor,
  { sessionId }: LiveSession,
  recoveryCodes: string[] | null,
  caller: Caller,
): Promise<number> {
  const condition = Prisma.sql`${isUnchanged(user)}
    AND EXISTS (SELECT FROM sessions WHERE id = ${sessionId}::uuid AND revoked_at IS NULL AND ${isUnexpired})
    AND (SELECT count(*) FROM passkeys WHERE user_id = users.id) < ${maxPasskeys}`
  const added = Prisma.sql`(SELECT user_id FROM added)`
  const hashes = recoveryCodes?.map(hashRecoveryCode)
  const enabled = hashes
    ? Prisma.sql`
      enabled AS (UPDATE users SET second_factor_at = statement_timestamp() WHERE id = ${added}),
      codes AS (
        INSERT INTO recovery_codes (user_id, code_hash) SELECT user_id, unnest(${hashes}::bytea[]) FROM added
      ), ${endAllSessions(added, sessionId)}, `
    : Prisma.empty
  const recorded = recordEvents(
    'passkey_added',
    { userId: Prisma.sql`user_id`, sessionId },
    Prisma.sql`FROM added`,
  )

  return transaction(async (tx) => {
    // In an earlier statement, so that the next one sees sessions and passkeys as they are
    // after the wait for the lock.
    await lockUsers(tx, [user.userId])
    return tx.$executeRaw`
      WITH added AS (${insertPasskey(passkey, condition, caller)}
      ), ${enabled}${notice('passkey-added', added, caller)}${recorded}
      SELECT 1 FROM added`
  })
}

/**
 * Throws, unless the same request has just stored the passkey. The challenge is that of
 * this session, so the ID of the passkey proves that this session has stored it.
 */
async function requireRepetition(
  passkey: NewPasskey,
  user: UserWithFactor,
): Promise<void> {
  const { isRepeated, isUsed, isKnown, count } = await findState(passkey, user)
  if (isRepeated) return
  if (isUsed) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
  if (isKnown) throw new ApiError('PASSKEY_CONFLICT', { check: 'passkey_exists' })

  const check = count >= maxPasskeys ? 'passkey_limit' : 'user_changed'
  throw new ApiError('PASSKEY_CONFLICT', { check })
}

/** Returns what is stored of a passkey, and how many the user has. */
async function findState(
  { id, credentialId }: NewPasskey,
  { userId }: UserWithFactor,
): Promise<{ isUsed: boolean; isKnown: boolean; isRepeated: boolean; count: number }> {
  const [row] = await prisma().$queryRaw<
    { isUsed: boolean; isKnown: boolean; isRepeated: boolean; count: number }[]
  >`
    SELECT EXISTS (SELECT FROM passkeys WHERE id = ${id}::uuid) AS "isUsed",
      EXISTS (SELECT FROM passkeys WHERE credential_id = ${credentialId}) AS "isKnown",
      EXISTS (SELECT FROM passkeys WHERE id = ${id}::uuid AND credential_id = ${credentialId} AND user_id = ${userId}::uuid
        AND created_at > now() - make_interval(secs => ${repetitionSeconds})) AS "isRepeated",
      (SELECT count(*)::int FROM passkeys WHERE user_id = ${userId}::uuid) AS count`.catch(
    NothingChanged.rethrow,
  )

  return row!
}
