import { sendNotices } from '@/lib/client/logout-notices'
import { sendMails } from '@/lib/contract/routes'
import { cronRoute } from '@/lib/http/cron'
import { sendDueMails } from '@/lib/mail/sender'
import { sendsMail } from '@/lib/settings/env'

const timeLimitMs = 20_000

/** Sends the emails, and the notices for clients, that are due. Vercel calls it regularly (see vercel.json). */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = cronRoute(
  sendMails,
  async () => {
    const endsAt = performance.now() + timeLimitMs
    await sendNotices(timeLimitMs / 2)
    const tried = sendsMail() ? await sendDueMails(endsAt - performance.now()) : 0

    return { tried }
  },
)
