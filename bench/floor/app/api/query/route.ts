import { pool } from '../../../pool'

/**
 * The least for an exchange: reads JSON, executes one prepared `SELECT 1`, and sends JSON
 * of an exchange's size.
 */
export async function POST(request: Request): Promise<Response> {
  await request.json()
  const { rows } = await pool.query({ name: 'one', text: 'SELECT 1 AS one' })
  return Response.json({
    ok: rows[0].one === 1,
    token: 'x'.repeat(430),
    refreshToken: 'x'.repeat(48),
  })
}
