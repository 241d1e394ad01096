import { apiRoute, methodNotAllowed, parseJson } from '@/lib/api-route'
import { ResetPasswordRequest } from '@/lib/contract'
import { resetPassword } from '@/lib/password-reset'

const route = 'reset-password'

export const POST = apiRoute(route, async (request, addToLog) => {
  const { token, password } = await parseJson(request, ResetPasswordRequest)
  addToLog(await resetPassword(token, password))
  return Response.json({ ok: true })
})

const refuse = methodNotAllowed(route, 'POST')

export { refuse as DELETE, refuse as GET, refuse as HEAD, refuse as OPTIONS, refuse as PATCH, refuse as PUT }
