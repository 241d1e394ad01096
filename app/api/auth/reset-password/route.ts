import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { resetPassword } from '@/lib/password/reset'

/** Sets a new password with the token of a reset e-mail. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.resetPassword,
  async ({ body: { token, password }, respond, addToLog }) => {
    addToLog(await resetPassword(token, password))
    return respond({ ok: true })
  },
)
