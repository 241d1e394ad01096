import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { maxPasskeys, passkeyPromptMs } from '../contract/lifetimes'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma, transaction } from '../database/prisma'
import { recordEvents } from '../event/record'
import { notice } from '../mail/outbox'
import { findFactor, isUnchanged, type UserWithFactor } from '../second-factor/find'
import type { LiveSession } from '../session/find'
import { repetitionSeconds } from '../session/repetition'
import { lockUsers } from '../session/revoke'
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

/**
 * Returns what a browser needs to create a passkey of a session's user, and until when the
 * challenge can be used. Throws PASSKEY_CONFLICT.
 */
export async function startRegistration({
  sessionId,
  ...session
}: LiveSession): Promise<{ options: ReturnType<typeof makeOptions>; expiresAt: string }> {
  const user = await findFactor(session.userId)
  if (!user) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })

  const existing = await prisma().passkey.findMany({
    where: { userId: user.userId },
    select: { credentialId: true, transports: true },
  })
  if (existing.length >= maxPasskeys)
    throw new ApiError('PASSKEY_CONFLICT', { check: 'passkey_limit' })

  const purpose = registrationPurpose({ ...session, sessionId }, user)
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

type Given = Attestation & { transports?: string[] | undefined }

/**
 * Stores the passkey that a browser has created for a challenge of this session, and
 * queues a notice. If the session has just stored it, does nothing. Throws as in the
 * contract.
 */
export async function addPasskey(
  session: LiveSession,
  given: Given,
  caller: Caller,
): Promise<Passkey> {
  const user = await findFactor(session.userId)
  if (!user) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })

  const challenge = readChallengeText(given.clientDataJSON)
  const issued = readChallenge(challenge, registrationPurpose(session, user))
  if (!issued) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_unknown' })
  if (user.now >= issued.endsAt)
    throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_expired' })

  const registration = await readRegistration(given, challenge)
  if (typeof registration === 'string') throw invalidPasskey(registration)

  const transports = knownTransports.filter((name) => given.transports?.includes(name))
  const passkey = { id: issued.id, transports, ...registration }
  const added = await insert(passkey, user, session, caller)
  if (!added) await requireRepetition(passkey, user)

  const [stored] = await findPasskeys(user.userId, issued.id)
  if (!stored) throw new ApiError('PASSKEY_CONFLICT', { check: 'user_changed' })

  return stored
}

type NewPasskey = Registration & { id: string; transports: string[] }

/**
 * Stores a passkey. Returns 0 if it or its ID exists, if the user has changed or has too
 * many, or if the session has ended.
 */
async function insert(
  passkey: NewPasskey,
  user: UserWithFactor,
  { sessionId }: LiveSession,
  caller: Caller,
): Promise<number> {
  const { id, credentialId, publicKey, signCount, aaguid, transports } = passkey
  const { isBackupEligible, isBackedUp } = passkey
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
      WITH added AS (
        INSERT INTO passkeys (credential_id, id, user_id, public_key, sign_count, backup_eligible, backed_up, transports, aaguid, device)
        SELECT ${credentialId}, ${id}::uuid, id, ${publicKey}, ${signCount}::bigint, ${isBackupEligible}, ${isBackedUp},
          ${transports}::text[], ${aaguid}::uuid, ${caller.device}
        FROM users WHERE ${isUnchanged(user)}
          AND EXISTS (SELECT FROM sessions WHERE id = ${sessionId}::uuid AND revoked_at IS NULL AND ${isUnexpired})
          AND (SELECT count(*) FROM passkeys WHERE user_id = users.id) < ${maxPasskeys}
        ON CONFLICT DO NOTHING
        RETURNING user_id
      ), ${notice('passkey-added', Prisma.sql`(SELECT user_id FROM added)`, caller)}${recorded}
      SELECT 1 FROM added`
  })
}

/**
 * Throws, unless the same request has just stored the passkey. The challenge is that of
 * this session, so the ID of the passkey proves that this session has stored it.
 */
async function requireRepetition(
  { id, credentialId }: NewPasskey,
  { userId }: UserWithFactor,
): Promise<void> {
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

  const { isRepeated, isUsed, isKnown, count } = row!
  if (isRepeated) return
  if (isUsed) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
  if (isKnown) throw new ApiError('PASSKEY_CONFLICT', { check: 'passkey_exists' })

  const check = count >= maxPasskeys ? 'passkey_limit' : 'user_changed'
  throw new ApiError('PASSKEY_CONFLICT', { check })
}
