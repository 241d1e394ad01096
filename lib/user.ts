import { db } from './db'

/** The person with an e-mail address, compared without regard to case; null where there is none. */
export async function findUserByEmail(
  email: string,
): Promise<{ id: string; email: string; disabledAt: Date | null; passwordBarred: boolean } | null> {
  const [user] = await db().$queryRaw<{ id: string; email: string; disabledAt: Date | null; passwordBarred: boolean }[]>`
    SELECT id, email, disabled_at AS "disabledAt", password_barred AS "passwordBarred" FROM users WHERE lower(email) = lower(${email})`
  return user ?? null
}

/** Makes a person with an e-mail address and no password, or does nothing where the address is taken. */
export async function createUser(email: string): Promise<void> {
  await db().$executeRaw`INSERT INTO users (email) VALUES (${email}) ON CONFLICT (lower(email)) DO NOTHING`
}
