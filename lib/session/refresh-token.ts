import { createHmac, timingSafeEqual } from 'node:crypto'
import { env } from '../settings/env'

// 16 bytes of session ID, 4 bytes of generation, 16 bytes of MAC
const idBytes = 16
const signedBytes = idBytes + 4
const macBytes = 16

/** What a refresh token says: its session, and how often that had been rotated. */
export type Refresh = { sessionId: string; generation: number }

/**
 * Returns the refresh token of a session at one generation (48 characters of base64url).
 * Deterministic, so that nothing about it needs to be stored.
 */
export function makeRefreshToken({ sessionId, generation }: Refresh): string {
  const signed = Buffer.alloc(signedBytes)
  signed.write(sessionId.replaceAll('-', ''), 'hex')
  signed.writeUInt32BE(generation, idBytes)
  const [newest] = env().SESSION_SIGNING_KEYS.refreshKeys
  return Buffer.concat([signed, mac(newest!, signed)]).toString('base64url')
}

/**
 * Returns what a refresh token says, or null unless one of the configured private keys made it.
 * Does not tell whether it is still valid: see `refreshSession`.
 */
export function readRefreshToken(token: string): Refresh | null {
  if (!/^[\w-]{48}$/.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  if (!env().SESSION_SIGNING_KEYS.refreshKeys.some((key) => timingSafeEqual(mac(key, signed), given))) return null
  const sessionId = signed.toString('hex', 0, idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return { sessionId, generation: signed.readUInt32BE(idBytes) }
}

function mac(key: Uint8Array, signed: Uint8Array): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, macBytes)
}
