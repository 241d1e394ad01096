import { formatRelativeTime } from '@/lib/texts/relative-time'
import localTime from './inline/local-time.inline.js?raw'

const format = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
} as const
// creating one takes longer than using it a hundred times
const formats = new Map<string, Intl.DateTimeFormat>()
const maxFormats = 100 // a limit, because clients choose the locale

/**
 * An instant (ISO 8601) in UTC, and how far it is from now. The page needs `LocalTimes`
 * after it.
 */
export function Time({ instant, locale }: { instant: string; locale: string }) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000
  return (
    <>
      <time dateTime={instant} suppressHydrationWarning>
        {findFormat(locale).format(new Date(instant))}
      </time>{' '}
      ({formatRelativeTime(seconds, locale)})
    </>
  )
}

/** A script that replaces UTC by the user's time zone in all times before it. */
export function LocalTimes({ nonce, locale }: { nonce: string | null; locale: string }) {
  return (
    <script
      nonce={nonce ?? undefined}
      data-locale={locale}
      data-format={JSON.stringify(format)}
      suppressHydrationWarning
      dangerouslySetInnerHTML={{ __html: localTime }}
    />
  )
}

function findFormat(locale: string): Intl.DateTimeFormat {
  const known = formats.get(locale)
  if (known) return known

  const created = new Intl.DateTimeFormat(locale, { ...format, timeZone: 'UTC' })
  if (formats.size >= maxFormats) formats.clear()
  formats.set(locale, created)

  return created
}
