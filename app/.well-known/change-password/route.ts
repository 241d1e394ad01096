import * as routes from '@/lib/contract/routes'
import { route, seeOther } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

/**
 * Redirects password managers to the page that changes a password (W3C, A Well-Known URL
 * for Changing Passwords).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.changePasswordElsewhere,
  async () => seeOther(env().FORGOT_PASSWORD_URL ?? env().SIGN_IN_URL),
)
