import { noticeClientsLater } from '@/app/api/auth/notice-clients'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { presentedSessionIds } from '@/lib/http/caller'
import { route, seeOther } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { deletedSessionCookies } from '@/lib/session/cookie'
import { endSessions } from '@/lib/session/revoke'

/** Signs out the browser that posts the form. Accepts forms from this site only. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.signOutOfPages,
  async ({ request, setCookies }) => {
    if (!isSameOrigin(request.headers))
      throw new ApiError('ORIGIN_REJECTED', { check: 'other_site' })

    setCookies(deletedSessionCookies())

    try {
      await endSessions(await presentedSessionIds(request.headers))
      noticeClientsLater()
    } catch (error) {
      // Deleting the cookies signs the user out anyway, because this browser has no other
      // copy of the tokens.
      log.error(
        { route: 'sign-out-page', cause: describeCause(error) },
        'a session could not be ended',
      )
    }

    return seeOther('/?signed-out')
  },
)
