import bcrypt from 'bcrypt'

/** Bare bcrypt: JSON in, one hash of the cost that a reset has, JSON out. */
export async function POST(request: Request): Promise<Response> {
  const { password } = await request.json()
  await bcrypt.hash(password, 12)
  return Response.json({ ok: true })
}
