import { issueResetToken } from '../lib/password/reset'
import { env } from '../lib/settings/env'
import { issueSsoCode } from '../lib/sso/exchange'
import { createUser, findUserByEmail } from '../lib/user'

/** A secret with the address that a person opens with it. */
export type Link = { secret: string; url: string; expiresAt: string }

/** What the SSO callback's redirect does for a person: a code, in the address of the page that exchanges it. */
export async function signInLink(userId: string): Promise<Link> {
  return link('/sso/callback', 'code', await issueSsoCode(userId))
}

/** What a forgot-password mail carries: a token, in the address of the page that resets. */
export async function resetLink(userId: string): Promise<Link> {
  return link('/reset-password', 'token', await issueResetToken(userId))
}

/** One of each for a person, who is made where there is none. */
export async function issueLinks(email: string): Promise<{ signIn: Link; reset: Link }> {
  await createUser(email)
  const user = await findUserByEmail(email)
  if (!user) throw new Error(`There is no ${email}.`)
  return { signIn: await signInLink(user.id), reset: await resetLink(user.id) }
}

function link(path: string, parameter: string, { secret, expiresAt }: { secret: string; expiresAt: Date }): Link {
  return { secret, url: `${env().PUBLIC_URL}${path}?${parameter}=${secret}`, expiresAt: expiresAt.toISOString() }
}
