import { prisma } from './database/prisma'
import { sql } from './database/sql'

/** The user with an e-mail address, in any case; null if there is none. */
export async function findUserByEmail(
  email: string,
): Promise<{ id: string; email: string; disabledAt: Date | null; ssoOnly: boolean } | null> {
  return prisma().user.findUnique({
    where: { email: email.toLowerCase() },
    select: { id: true, email: true, disabledAt: true, ssoOnly: true },
  })
}

/** Creates a user with an e-mail address and no password, or does nothing if the address is taken. */
export async function createUser(email: string): Promise<void> {
  // Not with Prisma, whose clock would set created_at.
  await sql`INSERT INTO users (email) VALUES (${email.toLowerCase()}) ON CONFLICT (email) DO NOTHING`
}
