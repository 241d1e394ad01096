import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { mailRequestOf } from '@/lib/mail/request'
import { sendAfterRequest } from '@/lib/mail/sender'
import { resetPassword } from '@/lib/password/reset'
import { sendsMail } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.resetPassword,
  async (call) => {
    const { request, body, respond, addToLog } = call
    addToLog(
      await resetPassword(body.token, body.password, mailRequestOf(request.headers)),
    )
    if (sendsMail()) after(sendAfterRequest)
    return respond({ ok: true })
  },
)
