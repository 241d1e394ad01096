import { issueResetToken } from '../lib/password/reset'
import { env } from '../lib/settings/env'
import { issueSsoCode } from '../lib/sso/exchange'

const kinds = {
  'sso-code': { path: '/sso/callback?code=', issue: issueSsoCode },
  'reset-token': { path: '/reset-password?token=', issue: issueResetToken },
}
export type LinkKind = keyof typeof kinds

/** Issues a one-time link for a user, like that of the SSO callback or of a reset email. */
export async function issueLink(kind: LinkKind, userId: string) {
  const { path, issue } = kinds[kind]
  const { secret, expiresAt } = await issue(userId)
  return { secret, url: `${env().PUBLIC_URL}${path}${secret}`, expiresAt: expiresAt.toISOString() }
}
