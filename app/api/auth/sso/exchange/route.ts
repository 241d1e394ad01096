import { apiRoute, methodNotAllowed, parseJson } from '@/lib/api-route'
import { SsoExchangeRequest } from '@/lib/contract'
import { sessionCookie, sessionTokenOf, verifySessionToken } from '@/lib/session-token'
import { exchangeSsoCode } from '@/lib/sso-exchange'

const route = 'sso-exchange'

export const POST = apiRoute(route, async (request, addToLog) => {
  const { code } = await parseJson(request, SsoExchangeRequest)
  const heldToken = sessionTokenOf(request)
  const held = heldToken ? await verifySessionToken(heldToken) : null
  const { token, refreshToken, userId, sessionId } = await exchangeSsoCode(code, held?.sessionId ?? null)
  addToLog({ userId, sessionId })
  return Response.json({ ok: true, token, refreshToken }, { headers: { 'Set-Cookie': sessionCookie(token) } })
})

const refuse = methodNotAllowed(route, 'POST')

export { refuse as DELETE, refuse as GET, refuse as HEAD, refuse as OPTIONS, refuse as PATCH, refuse as PUT }
