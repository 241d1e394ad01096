import { constants, inflateRawSync } from 'node:zlib'

const maxStart = 4_096 // characters of base64, because only the root element is read
const maxInflatedBytes = 64 * 1024
const logoutMessage =
  /^\uFEFF?\s*(?:<\?xml[^>]*>\s*)?<(?:[\w.-]+:)?Logout(?:Request|Response)\b/

/**
 * Whether a provider sent a message of single logout (SAML Profiles 4.4) in place of the
 * response to a sign-in. Providers are told one URL for both by mistake. Trusts nothing in
 * the message.
 */
export function isLogoutMessage(fields: URLSearchParams): boolean {
  if (fields.has('SAMLRequest')) return true

  const start = (fields.get('SAMLResponse') ?? '').slice(0, maxStart)
  const bytes = Buffer.from(start, 'base64')

  return logoutMessage.test(bytes.toString()) || logoutMessage.test(inflate(bytes))
}

/** Returns the text of a message of HTTP-Redirect. If it is cut off, returns its start. */
function inflate(bytes: Buffer): string {
  const options = {
    finishFlush: constants.Z_SYNC_FLUSH,
    maxOutputLength: maxInflatedBytes,
  }

  try {
    return inflateRawSync(bytes, options).toString()
  } catch {
    return ''
  }
}
