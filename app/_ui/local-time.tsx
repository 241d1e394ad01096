'use client'

import { useSyncExternalStore } from 'react'

const formats = new Map<string, Intl.DateTimeFormat>() // creating one takes longer than using it a hundred times
const maxFormats = 100 // a limit, because clients choose the locale

/** Formats an instant (ISO 8601) for a locale. The server uses UTC. Scripts replace UTC by the user's time zone. */
export function LocalTime({ instant, locale }: { instant: string; locale: string }) {
  const text = useSyncExternalStore(
    () => () => {},
    () => formatOf(locale).format(new Date(instant)),
    () => formatOf(locale, 'UTC').format(new Date(instant)),
  )
  return <time dateTime={instant}>{text}</time>
}

function formatOf(locale: string, timeZone?: string): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone}`
  const known = formats.get(key)
  if (known) return known
  const format = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  })
  if (formats.size >= maxFormats) formats.clear()
  formats.set(key, format)
  return format
}
