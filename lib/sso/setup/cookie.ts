// The cookie of a browser that has opened a setup link. It has the ID of the link, signed, so
// that the secret of the link is in no cookie.
import { readSignedId, readUuid, signId } from '../../crypto/token'
import { readCookie, setCookie } from '../../session/cookie'
import { deriveKey } from '../../settings/encryption-keys'
import { env } from '../../settings/env'

export const setupCookieSeconds = 60 * 60

const context = 'setup'

function readKeys(): Uint8Array[] {
  const keys = env().ENCRYPTION_KEY ?? []
  return keys.map((key) => deriveKey(key, 'setup-v1'))
}

/** Returns the `Set-Cookie` value for a browser that has opened a link. */
export function createSetupCookie(linkId: string): string {
  const endsAt = Math.floor(Date.now() / 1000) + setupCookieSeconds
  const token = signId(readKeys(), linkId.replaceAll('-', ''), endsAt, context)

  return setCookie('setup', token, setupCookieSeconds)
}

/** Returns the ID of the link that a browser has opened in the past hour, or null. */
export function readSetupCookie(headers: Headers): string | null {
  const token = readCookie(headers, 'setup')
  const signed = token === null ? null : readSignedId(readKeys(), token, context)
  if (!signed || signed.number <= Date.now() / 1000) return null

  return readUuid(signed.id)
}
