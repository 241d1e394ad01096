import { after } from 'next/server'
import { env } from '@/lib/settings/env'

// a Vercel function may run for 30 s, and part of that has passed
const functionMs = 20_000

/** Tells clients that their sessions have ended, after the response. */
export function noticeClientsLater(): void {
  if (!env().ID_TOKEN_SIGNING_KEYS) return

  after(async () => {
    const { sendNotices } = await import('@/lib/client/logout-notices')
    await sendNotices(functionMs)
  })
}
