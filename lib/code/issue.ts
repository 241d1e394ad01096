import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { recordIssued } from '../event/record'

/**
 * What a code is bound to. Its session can be renewed until `renewableUntil` and for at
 * most `sessionHours`.
 */
export type CodeBounds = {
  // the value of the cookie `__Host-browser` of the only browser that can use the code
  browser?: string
  browserHash?: Uint8Array
  /** The code works only while this connection is enabled and the user is linked to it. */
  connectionId?: string
  renewableUntil?: Date | undefined
  sessionHours?: number | null
  amr?: string[] | null // how the user authenticated (RFC 8176)
  // the `sid` of the provider, at whose logout the session ends
  providerSession?: string | null
}

type Code = { secret: string; expiresAt: Date }

/**
 * Issues a one-time code for an authenticated user, valid for `lifetimes.code` seconds.
 * Redirect the browser to `/sso/callback?code=…` with it.
 *
 * @example
 * const { secret } = await issueSsoCode(user.id)
 * return Response.redirect(`${PUBLIC_URL}/sso/callback?code=${secret}`, 303)
 */
export async function issueSsoCode(
  userId: string,
  bounds: CodeBounds = {},
): Promise<Code> {
  return insertCode(userId, bounds, null)
}

/**
 * Issues a code with which an operator signs in as a user. JWTs of its session have `act`
 * instead of `amr`. `hours`: how long the session lasts, at most and by default
 * `lifetimes.session`. `operator`: a name for the events, or an empty text.
 */
export async function issueOperatorCode(
  userId: string,
  { operator, hours }: { operator: string; hours: number | null },
): Promise<Code> {
  return insertCode(userId, { sessionHours: hours }, operator)
}

async function insertCode(
  userId: string,
  bounds: CodeBounds,
  operator: string | null,
): Promise<Code> {
  const { browser, renewableUntil, connectionId = null } = bounds
  const { sessionHours = null, amr = null, providerSession = null } = bounds
  const browserHash = bounds.browserHash ?? (browser ? hashSecret(browser) : null)
  const secret = newSecret()

  const insertion = Prisma.sql`
    INSERT INTO exchange_codes (code_hash, user_id, browser_hash, connection_id, amr, provider_session, operator, renewable_until, expires_at)
    VALUES (${hashSecret(secret)}, ${userId}, ${browserHash}, ${connectionId}, ${amr}::text[], ${providerSession}, ${operator},
      least(to_timestamp(${renewableUntil ? renewableUntil.getTime() / 1_000 : null}), now() + make_interval(hours => ${sessionHours})),
      now() + make_interval(secs => ${lifetimes.code}))
    RETURNING extract(epoch FROM expires_at)::float8 AS "expiresAt"`

  const [row] = await prisma().$queryRaw<{ expiresAt: number }[]>(
    operator === null
      ? insertion
      : recordIssued('sign_in_link_issued', insertion, userId),
  )

  return { secret, expiresAt: dateFromEpoch(row!.expiresAt) }
}
