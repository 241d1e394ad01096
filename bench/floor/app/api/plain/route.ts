/** The floor without a database: JSON in, JSON out. */
export async function POST(request: Request): Promise<Response> {
  const { code } = await request.json()
  return Response.json({ ok: true, code })
}
