import bcrypt from 'bcrypt'

/**
 * The least that a reset needs: reads JSON, makes one bcrypt hash at the product's cost,
 * and responds with JSON.
 */
export async function POST(request: Request): Promise<Response> {
  const { password } = await request.json()
  await bcrypt.hash(password, 12)
  return Response.json({ ok: true })
}
