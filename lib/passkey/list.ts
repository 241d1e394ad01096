import { prisma } from '../database/prisma'
import { findFactor } from '../second-factor/find'
import { env } from '../settings/env'
import { findProvider } from './names'
import { passkeyDomain } from './webauthn'

/** A passkey as its user sees it. `name`: chosen by the user. */
export type Passkey = {
  id: string
  name: string | null
  provider: string | null
  device: string | null
  isSynced: boolean
  createdAt: Date
  lastUsedAt: Date | null
}

/** Returns the passkeys of a user, the newest first, or only the one with this ID. */
export async function findPasskeys(userId: string, id?: string): Promise<Passkey[]> {
  const passkeys = await prisma().passkey.findMany({
    where: { userId, ...(id && { id }) },
    orderBy: { createdAt: 'desc' },
  })

  return passkeys.map(({ aaguid, backedUp, ...passkey }) => ({
    id: passkey.id,
    name: passkey.name,
    provider: findProvider(aaguid),
    device: passkey.device,
    isSynced: backedUp,
    createdAt: passkey.createdAt,
    lastUsedAt: passkey.lastUsedAt,
  }))
}

/** Returns the passkeys of a user, and whether the user can add one. */
export async function listPasskeys(
  userId: string,
): Promise<{ available: boolean; passkeys: Passkey[] }> {
  const user = await findFactor(userId)
  const available = env().PASSKEYS && Boolean(user?.passwordHash)

  return { available, passkeys: await findPasskeys(userId) }
}

/**
 * Returns what password managers need to know of a user's passkeys. IDs are in base64url.
 */
export async function findSignals(
  userId: string,
): Promise<{ rpId: string; userId: string; credentialIds: string[] }> {
  const passkeys = await prisma().passkey.findMany({
    where: { userId },
    select: { credentialId: true },
  })

  return {
    rpId: passkeyDomain(),
    userId: makeUserHandle(userId),
    credentialIds: passkeys.map(({ credentialId }) =>
      Buffer.from(credentialId).toString('base64url'),
    ),
  }
}

/** Returns the handle of a user (WebAuthn Level 3, §5.4.3): the bytes of the ID. */
export function makeUserHandle(userId: string): string {
  return Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')
}

/** Returns a passkey as in the contract. */
export function describePasskey({
  id,
  name,
  provider,
  device,
  isSynced,
  createdAt,
  lastUsedAt,
}: Passkey) {
  return {
    id,
    name: name ?? provider ?? device ?? 'Passkey',
    ...(provider && { provider }),
    synced: isSynced,
    createdAt: createdAt.toISOString(),
    ...(lastUsedAt && { lastUsedAt: lastUsedAt.toISOString() }),
  }
}
