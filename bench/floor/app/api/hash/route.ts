import bcrypt from 'bcrypt'

/** The floor of a reset: JSON in, one bcrypt hash of the same cost, JSON out. */
export async function POST(request: Request): Promise<Response> {
  const { password } = await request.json()
  await bcrypt.hash(password, 12)
  return Response.json({ ok: true })
}
