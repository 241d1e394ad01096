import { log } from '../log/log'

/** How far the clocks of a provider and of this server may differ. */
export const clockToleranceSeconds = 180

const noticeableMs = 60_000
const warnAgainMs = 60 * 60 * 1000
const warnedAt = new Map<string, number>() // by the slug of the connection

/**
 * Logs a warning, at most hourly per connection, if the clock of a provider differs by more
 * than a minute: sign-ins will fail if the difference grows. `issuedAt` is the time of the
 * provider when it responded.
 */
export function warnAboutClock(slug: string, issuedAt: Date | undefined): void {
  const aheadMs = issuedAt ? issuedAt.getTime() - Date.now() : 0
  if (Math.abs(aheadMs) <= noticeableMs) return

  const lastAt = warnedAt.get(slug) ?? Number.NEGATIVE_INFINITY
  if (performance.now() - lastAt < warnAgainMs) return

  warnedAt.set(slug, performance.now())
  log.warn(
    { connection: slug, check: 'clock', aheadSeconds: Math.round(aheadMs / 1000) },
    'the clocks of a provider and of this server differ by more than a minute',
  )
}
