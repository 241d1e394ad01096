import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { dateFromEpoch, prisma } from '../database/prisma'

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
): Promise<{ secret: string; expiresAt: Date }> {
  const { browser, renewableUntil, connectionId = null } = bounds
  const { sessionHours = null, amr = null, providerSession = null } = bounds
  const browserHash = bounds.browserHash ?? (browser ? hashSecret(browser) : null)
  const secret = newSecret()

  const [row] = await prisma().$queryRaw<{ expiresAt: number }[]>`
    INSERT INTO exchange_codes (code_hash, user_id, browser_hash, connection_id, amr, provider_session, renewable_until, expires_at)
    VALUES (${hashSecret(secret)}, ${userId}, ${browserHash}, ${connectionId}, ${amr}::text[], ${providerSession},
      least(to_timestamp(${renewableUntil ? renewableUntil.getTime() / 1_000 : null}), now() + make_interval(hours => ${sessionHours})),
      now() + make_interval(secs => ${lifetimes.code}))
    RETURNING extract(epoch FROM expires_at)::float8 AS "expiresAt"`

  return { secret, expiresAt: dateFromEpoch(row!.expiresAt) }
}
