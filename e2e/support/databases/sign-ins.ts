import type { Sql } from '../fixtures'

/** The rows that sign-ins with a connection left in the database. */
export async function connectionState(
  sql: Sql,
  slug: string,
): Promise<{
  users: string[]
  identities: { issuer: string; subject: string; email: string }[]
  sessions: { email: string; revoked: boolean }[]
  signIns: { claimed: boolean }[]
}> {
  const [row] = await sql('SELECT id FROM connections WHERE slug = $1', [slug])
  const values = [row!.id]
  const read = async (text: string) => (await sql(text, values)) as any[]
  const users = await read(
    `SELECT email FROM users WHERE substring(email FROM '[^@]*$') IN
       (SELECT domain FROM connection_domains WHERE connection_id = $1) ORDER BY 1`,
  )
  return {
    users: users.map(({ email }) => email),
    identities: await read(
      `SELECT issuer, subject, email FROM identities JOIN users ON users.id = user_id WHERE connection_id = $1 ORDER BY email`,
    ),
    sessions: await read(
      `SELECT email, revoked_at IS NOT NULL AS revoked FROM sessions JOIN users ON users.id = user_id
       WHERE connection_id = $1 ORDER BY sessions.created_at`,
    ),
    signIns: await read(
      'SELECT claimed_at IS NOT NULL AS claimed FROM sso_attempts WHERE connection_id = $1 ORDER BY created_at',
    ),
  }
}
