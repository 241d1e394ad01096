import { formatRelativeTime, numberingSystem } from '@/lib/texts/relative-time'
import localTime from './inline/local-time.inline.js?raw'

const format = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
  numberingSystem,
} as const
// creating one takes longer than using it a hundred times
const formats = new Map<string, Intl.DateTimeFormat>()
const maxFormats = 100 // a limit, because clients choose the locale

type Properties = { instant: string; locale: string }

/** An instant (ISO 8601) in UTC, and how far it is from now. */
export function Time({ instant, locale }: Properties) {
  return (
    <>
      <ExactTime {...{ instant, locale }} /> ({tellDistance(instant, locale)})
    </>
  )
}

/** An instant (ISO 8601) in UTC. The page needs `LocalTimes` after it. */
export function ExactTime({ instant, locale }: Properties) {
  return (
    <time dateTime={instant} suppressHydrationWarning>
      {findFormat(locale).format(new Date(instant))}
    </time>
  )
}

/** Returns how far an instant (ISO 8601) is from now, such as “2 hours ago”. */
export function tellDistance(instant: string, locale: string): string {
  return formatRelativeTime((Date.parse(instant) - Date.now()) / 1000, locale)
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
