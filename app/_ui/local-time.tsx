'use client'

import { useSyncExternalStore } from 'react'

/**
 * Formats an instant (ISO 8601) in a language: in UTC on the server, in the user's time zone once
 * scripts run.
 */
export function LocalTime({ instant, language }: { instant: string; language: string }) {
  const format = (timeZone?: string) =>
    new Intl.DateTimeFormat(language, {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZone,
      timeZoneName: 'short',
    }).format(new Date(instant))
  const text = useSyncExternalStore(
    () => () => {},
    () => format(),
    () => format('UTC'),
  )
  return <time dateTime={instant}>{text}</time>
}
