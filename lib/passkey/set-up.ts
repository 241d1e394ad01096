import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { Prisma } from '../database/prisma'
import type { SetUp } from '../second-factor/challenge'
import {
  type Completed,
  completeSetUp,
  isOpen,
  repeatSetUp,
  requireOpen,
} from '../second-factor/set-up'
import {
  type Given,
  insertPasskey,
  makeRegistration,
  type NewPasskey,
  readNewPasskey,
  type StartedRegistration,
} from './add'
import { findPasskeys, type Passkey } from './list'

/**
 * Returns what a browser needs to create a passkey inside a sign-in. Throws
 * CHALLENGE_INVALID.
 */
export function startPasskeySetUp(user: SetUp): StartedRegistration {
  requireOpen(user)
  return makeRegistration(user, user)
}

/**
 * Stores the passkey of a set-up, and starts its session. If the same browser repeats the
 * request, returns the same session again. Throws as in the contract.
 */
export async function addPasskeySetUp(
  user: SetUp,
  given: Given,
  caller: Caller,
): Promise<Completed & { passkey: Passkey }> {
  const passkey = await readNewPasskey(user, { ...user, enabledAt: null }, given)

  const completed = user.isDone ? null : await store(user, passkey, caller)
  const result = completed ?? (await repeat(user, passkey, caller))
  const [stored] = result ? await findPasskeys(user.userId, passkey.id) : []
  if (result && stored) return { ...result, passkey: stored }

  throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
}

// A registration without attestation signs nothing, so it is no proof of possession (`pop`).
const amr = ['pwd', 'mfa']

function store(
  user: SetUp,
  passkey: NewPasskey,
  caller: Caller,
): Promise<Completed | null> {
  const stored = Prisma.sql`
    stored AS (${insertPasskey(passkey, isOpen(user), caller)}
    )`
  const kind = { amr, kind: 'passkey-added', event: 'passkey_added' } as const

  return completeSetUp(user, stored, kind, caller)
}

function repeat(
  user: SetUp,
  { id, credentialId }: NewPasskey,
  caller: Caller,
): Promise<Completed | null> {
  const isSamePasskey = Prisma.sql`EXISTS (
    SELECT FROM passkeys
    WHERE passkeys.id = ${id}::uuid AND credential_id = ${credentialId} AND passkeys.user_id = sessions.user_id)`

  return repeatSetUp(user, isSamePasskey, caller)
}
