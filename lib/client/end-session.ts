import type { Check } from '../contract/checks'
import { findClient } from './client'
import { type IdTokenHint, verifyIdToken } from './id-token'
import { addParameters } from './redirect-uri'

/** What a client asks for when it signs a user out. */
export type SignOutRequest = {
  /** The session that ends without a question. */
  sessionId: string | null
  /** Where the browser goes afterwards. Null: to our own page. */
  target: SignOutTarget | null
  /** Why there is no session or no target, although the client sent one. */
  check: Check | null
}

export type SignOutTarget = { client: string; uri: string; state: string | null }

/**
 * Reads the parameters of a sign-out (OpenID Connect RP-Initiated Logout §2). Rejects
 * nothing: the user wants to sign out in any case. A parameter that is repeated counts as
 * missing.
 */
export async function readSignOut(given: URLSearchParams): Promise<SignOutRequest> {
  const [token, named] = [only(given, 'id_token_hint'), only(given, 'client_id')]
  const hint = token === null ? null : await verifyIdToken(token)

  const isOfOther = hint !== null && named !== null && hint.client !== named
  if ((token !== null && hint === null) || isOfOther)
    return { sessionId: null, target: null, check: 'id_token_hint' }

  const sessionId = hint?.sessionId ?? null
  const found = await findTarget(given, hint, named)
  if (typeof found === 'string') return { sessionId, target: null, check: found }

  return { sessionId, target: found, check: null }
}

/** Returns the registered target, null if none is given, or why it is no target. */
async function findTarget(
  given: URLSearchParams,
  hint: IdTokenHint | null,
  named: string | null,
): Promise<SignOutTarget | Check | null> {
  const uri = only(given, 'post_logout_redirect_uri')
  if (uri === null) return null

  const slug = hint?.client ?? named
  if (slug === null) return 'client_missing'

  const client = /^[\w-]+$/.test(slug) ? await findClient(slug) : null
  if (!client) return 'client_unknown'
  if (client.disabledAt) return 'client_disabled'
  if (!client.postLogoutRedirectUris.includes(uri)) return 'redirect_uri_unknown'

  return { client: slug, uri, state: only(given, 'state') }
}

/** Returns the URL of a target. */
export function targetUrl({ uri, state }: SignOutTarget): string {
  return addParameters(uri, state === null ? {} : { state })
}

function only(given: URLSearchParams, name: string): string | null {
  const values = given.getAll(name).filter(Boolean)
  return values.length === 1 ? values[0]! : null
}
