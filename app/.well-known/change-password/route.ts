import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { env } from '@/lib/env'

const route = 'change-password'

/** Where password managers send a user who should change a password (W3C, A Well-Known URL for Changing Passwords). */
export const GET = apiRoute(route, async () => {
  return new Response(null, { status: 303, headers: { Location: env().FORGOT_PASSWORD_URL ?? '/reset-password' } })
})

const reject = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, reject as DELETE, reject as OPTIONS, reject as PATCH, reject as POST, reject as PUT }
