/**
 * Returns the bytes of a base64url text, or null for any other text: padding, other
 * characters, and a second form of the same bytes.
 */
export function decodeBase64url(text: string): Buffer<ArrayBuffer> | null {
  const bytes = Buffer.from(text, 'base64url') as Buffer<ArrayBuffer>
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : null
}
