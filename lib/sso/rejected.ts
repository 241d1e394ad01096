// The accounts that a provider has identified, but that were rejected here. Operators see
// them, to find the subject that a link needs.
import { emailForms } from '../contract/email-address'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import type { SignInRejected } from './rejection'

const keptPerConnection = 100
const maxAddressLength = 254

/** How long a rejected sign-in is kept, as an SQL interval. */
const kept = Prisma.sql`interval '7 days'`

/**
 * Stores a rejected sign-in of an account whose response was verified, and counts
 * repetitions. Other rejections are ignored: anybody could cause them, and fill the table.
 */
export async function recordRejected(
  connectionId: string,
  { check, error, identity, account }: SignInRejected,
): Promise<void> {
  if (!identity || error !== 'no_access') return

  const { issuer, subject } = identity
  const email = account && isAddress(account) ? account.toLowerCase() : null

  await prisma().$executeRaw`
    INSERT INTO rejected_sign_ins (connection_id, issuer, subject, email, reason)
    VALUES (${connectionId}, ${issuer}, ${subject}, ${email}, ${check})
    ON CONFLICT (connection_id, issuer, subject) DO UPDATE
    SET email = excluded.email, reason = excluded.reason, last_at = now(),
      count = CASE WHEN rejected_sign_ins.last_at > now() - ${kept} THEN rejected_sign_ins.count ELSE 0 END + 1`

  await prisma().$executeRaw`
    DELETE FROM rejected_sign_ins WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM rejected_sign_ins WHERE connection_id = ${connectionId}
      ORDER BY last_at DESC, issuer, subject OFFSET ${keptPerConnection}))`
}

function isAddress(text: string): boolean {
  return text.length <= maxAddressLength && /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(text)
}

export type RejectedSignIn = {
  issuer: string
  subject: string
  email: string | null
  reason: string
  count: number
  lastAt: Date
}

/**
 * Returns the rejected sign-ins of a connection in the past 7 days, the newest first. With
 * `email`, only those with this address.
 */
export async function listRejected(
  connectionId: string,
  email?: string,
): Promise<RejectedSignIn[]> {
  const forms = email && (emailForms(email) ?? [email.toLowerCase()])
  const isWanted = forms ? Prisma.sql`email = ANY (${forms})` : Prisma.sql`true`

  const rows = await prisma().$queryRaw<
    (Omit<RejectedSignIn, 'lastAt'> & { lastAt: number })[]
  >`
    SELECT issuer, subject, email, reason, count, extract(epoch FROM last_at)::float8 AS "lastAt"
    FROM rejected_sign_ins
    WHERE connection_id = ${connectionId} AND last_at > now() - ${kept} AND ${isWanted}
    ORDER BY last_at DESC, issuer, subject`

  return rows.map((row) => ({ ...row, lastAt: dateFromEpoch(row.lastAt) }))
}
