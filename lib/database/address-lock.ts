import type { Transaction } from './prisma'

/** The class of an advisory lock. The other class, 71001, is that of lib/sso/identity.ts. */
const addressLock = 71_002

/**
 * Waits for other transactions that may link or create a user with this address: first
 * sign-ins and directories. `email` is in lower case, with its domain in ASCII.
 */
export async function lockAddress(tx: Transaction, email: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${addressLock}, hashtext(${email}))`
}
