import { issueResetToken } from '../lib/password/reset'
import { env } from '../lib/settings/env'
import { issueSsoCode } from '../lib/sso/exchange'

export type Link = { secret: string; url: string; expiresAt: string }

/** The link that the SSO callback redirects to: the sign-in page with a one-time code. */
export async function codeLink(userId: string): Promise<Link> {
  return link('/sso/callback', 'code', await issueSsoCode(userId))
}

/** The link in a forgot-password e-mail: the reset page with a reset token. */
export async function resetLink(userId: string): Promise<Link> {
  return link('/reset-password', 'token', await issueResetToken(userId))
}

function link(path: string, parameter: string, { secret, expiresAt }: { secret: string; expiresAt: Date }): Link {
  return { secret, url: `${env().PUBLIC_URL}${path}?${parameter}=${secret}`, expiresAt: expiresAt.toISOString() }
}
