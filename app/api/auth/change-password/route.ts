import { after } from 'next/server'
import { operations } from '@/lib/contract/operations'
import { clientSubnet } from '@/lib/http/client-key'
import { route } from '@/lib/http/route'
import { mailRequestOf } from '@/lib/mail/request'
import { sendAfterRequest } from '@/lib/mail/sender'
import { changePassword } from '@/lib/password/change'
import { cookieOf } from '@/lib/session/cookie'
import { requireSession } from '@/lib/session/find'
import { env, sendsMail } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.changePassword,
  async ({ request, body, respond, addToLog }) => {
    const { headers } = request
    const session = await requireSession(headers)
    addToLog({ userId: session.userId, sessionId: session.sessionId })
    const client = { subnet: clientSubnet(request), knownBrowser: cookieOf(headers, 'known') }
    await changePassword(session, body, client, mailRequestOf(headers))
    if (sendsMail()) after(sendAfterRequest)
    return respond({ ok: true })
  },
  () => env().PASSWORD_SIGN_IN,
)
