import { createHmac, timingSafeEqual } from 'node:crypto'

// 16 bytes of ID, 4 bytes of number, 16 bytes of MAC
const idBytes = 16
const signedBytes = idBytes + 4
const macBytes = 16

/**
 * Signs an ID (32 hex digits) and a 32-bit number for `context` with the first key: 48
 * characters of base64url.
 */
export function signId(
  [key]: Uint8Array[],
  id: string,
  number: number,
  context = '',
): string {
  const signed = Buffer.alloc(signedBytes)
  signed.write(id, 'hex')
  signed.writeUInt32BE(number, idBytes)
  return Buffer.concat([signed, mac(key!, signed, context)]).toString('base64url')
}

/**
 * Returns the signed ID and number, or null if none of the keys has signed the text for
 * this context.
 */
export function readSignedId(
  keys: Uint8Array[],
  text: string,
  context = '',
): { id: string; number: number } | null {
  if (!/^[\w-]{48}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  if (!keys.some((key) => timingSafeEqual(mac(key, signed, context), given))) return null
  return { id: signed.toString('hex', 0, idBytes), number: signed.readUInt32BE(idBytes) }
}

/** Returns 32 hex digits as a UUID. */
export function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function mac(key: Uint8Array, signed: Uint8Array, context: string): Buffer {
  return createHmac('sha256', key)
    .update(signed)
    .update(context)
    .digest()
    .subarray(0, macBytes)
}
