import { inRelativeTime } from '@/lib/page/relative-time'
import { LocalTime } from './local-time'

/** An instant (ISO 8601), and how far it is from now. */
export function Time({ instant, locale }: { instant: string; locale: string }) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000
  return (
    <>
      <LocalTime {...{ instant, locale }} /> ({inRelativeTime(seconds, locale)})
    </>
  )
}
