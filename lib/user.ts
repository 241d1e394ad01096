import { prisma } from './database/prisma'
import { sql } from './database/sql'

/** Returns the user with an e-mail address, ignoring case, or null. */
export async function findUserByEmail(
  email: string,
): Promise<{ id: string; email: string; disabledAt: Date | null; ssoOnly: boolean } | null> {
  return prisma().user.findUnique({
    where: { email: email.toLowerCase() },
    select: { id: true, email: true, disabledAt: true, ssoOnly: true },
  })
}

/**
 * Creates a user with an e-mail address and no password. Does nothing if a user already has that
 * e-mail address.
 */
export async function createUser(email: string): Promise<void> {
  // SQL, because Prisma would set created_at from the clock of this process.
  await sql`INSERT INTO users (email) VALUES (${email.toLowerCase()}) ON CONFLICT (email) DO NOTHING`
}
