import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sendAfterRequest } from '@/lib/mail/sender'
import { resetPassword } from '@/lib/password/reset'
import { sendsMail } from '@/lib/settings/env'
import { noticeClientsLater } from '../notice-clients'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.resetPassword,
  async (call) => {
    const { caller, body, respond, addToLog } = call
    addToLog(await resetPassword(body.token, body.password, caller, body))
    if (sendsMail()) after(sendAfterRequest)
    noticeClientsLater()

    return respond({ ok: true })
  },
)
