import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { mailRequestOf } from '@/lib/mail/request'
import { sendAfterRequest } from '@/lib/mail/sender'
import { resetPassword } from '@/lib/password/reset'
import { sendsMail } from '@/lib/settings/env'

/** Sets a new password with the token of a reset e-mail. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.resetPassword,
  async ({ request, body: { token, password }, respond, addToLog }) => {
    addToLog(await resetPassword(token, password, mailRequestOf(request.headers)))
    if (sendsMail()) after(sendAfterRequest)
    return respond({ ok: true })
  },
)
