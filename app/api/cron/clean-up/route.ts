import { runCleanUp } from '@/lib/contract/routes'
import { deleteExpiredRows } from '@/lib/database/clean-up'
import { cronRoute } from '@/lib/http/cron'
import { logExpiringCertificates } from '@/lib/sso/manage/certificate-warnings'

const timeLimitMs = 30_000

/**
 * Deletes expired rows, and logs certificates that expire soon. Vercel calls it daily
 * (see vercel.json).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = cronRoute(
  runCleanUp,
  async () => {
    const deleted = await deleteExpiredRows(timeLimitMs)
    await logExpiringCertificates()
    return { deleted }
  },
)
