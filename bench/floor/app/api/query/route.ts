import { pool } from '../../../pool'

/** The floor of a route with a database: JSON in, one prepared `SELECT 1`, JSON out. */
export async function POST(request: Request): Promise<Response> {
  const { code } = await request.json()
  const { rows } = await pool.query({ name: 'one', text: 'SELECT 1 AS one' })
  return Response.json({ ok: rows[0].one === 1, code })
}
