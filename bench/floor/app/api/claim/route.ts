import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { pool } from '../../../pool'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const claim = `
  WITH claimed AS (
    UPDATE exchange_codes SET used_at = now(), session_id = $2 WHERE code_hash = $1 AND used_at IS NULL RETURNING user_id
  )
  INSERT INTO sessions (id, user_id, expires_at) SELECT $2, user_id, now() + interval '7 days' FROM claimed RETURNING user_id`

/** The floor of an exchange: marks a code as used, inserts a session, and signs. No other check or guarantee. */
export async function POST(request: Request): Promise<Response> {
  const { code } = await request.json()
  const sessionId = randomUUID()
  const values = [createHash('sha256').update(code).digest(), sessionId]
  const { rows } = await pool.query({ name: 'claim', text: claim, values })
  if (!rows[0]) return Response.json({ ok: false }, { status: 400 })
  const claims = Buffer.from(JSON.stringify({ sub: rows[0].user_id, sid: sessionId, jti: randomUUID() }))
  const signature = sign('sha256', claims, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const token = `${claims.toString('base64url')}.${signature.toString('base64url')}`
  return Response.json({ ok: true, token, refreshToken: randomBytes(32).toString('base64url') })
}
