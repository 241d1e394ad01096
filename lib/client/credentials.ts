import { ApiError, invalid } from '../contract/errors'

/** What a client authenticates with. A public client has no secret. */
export type Credentials = { slug: string; secret: string | null }

type Form = { client_id?: string | undefined; client_secret?: string | undefined }

/**
 * Reads the credentials of a client (RFC 6749 §2.3.1): `Basic` with both parts encoded as
 * in a form, or the fields of the form. Throws VALIDATION_ERROR if there are two kinds, and
 * CLIENT_INVALID if there are none, or if they are malformed.
 */
export function readCredentials(headers: Headers, form: Form): Credentials {
  const basic = /^Basic +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  const { client_id: formId, client_secret: formSecret } = form
  const { slug, secret } = basic
    ? parseBasic(basic)
    : { slug: formId, secret: formSecret || null }

  if (basic && (formSecret || (formId !== undefined && formId !== slug)))
    throw invalid(
      ['client_id'],
      'repeated',
      'Send the credentials of the client in the header or in the form, not in both.',
    )

  if (!slug) throw new ApiError('CLIENT_INVALID', { check: 'client_missing' })
  // also because PostgreSQL rejects a text with NUL
  if (!/^[\w-]+$/.test(slug))
    throw new ApiError('CLIENT_INVALID', { check: 'client_unknown' })

  return { slug, secret }
}

function parseBasic(encoded: string): { slug: string; secret: string | null } {
  const text = Buffer.from(encoded, 'base64').toString()
  const separator = text.indexOf(':')
  if (separator < 0) return { slug: decode(text), secret: null }

  return {
    slug: decode(text.slice(0, separator)),
    secret: decode(text.slice(separator + 1)) || null,
  }
}

/** Decodes a part of `Basic`. Some clients do not encode it. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return part
  }
}
