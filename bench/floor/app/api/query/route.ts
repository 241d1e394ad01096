import { pool } from '../../../pool'

/** The floor of an exchange: JSON in, one prepared `SELECT 1`, and JSON of the same size out. */
export async function POST(request: Request): Promise<Response> {
  await request.json()
  const { rows } = await pool.query({ name: 'one', text: 'SELECT 1 AS one' })
  return Response.json({ ok: rows[0].one === 1, token: 'x'.repeat(430), refreshToken: 'x'.repeat(48) })
}
