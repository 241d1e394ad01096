'use client'

import { useSyncExternalStore } from 'react'

/** An instant in the words of a language and with its time zone: UTC at first, and where there is a script, the zone of the person. */
export function LocalTime({ instant, language }: { instant: string; language: string }) {
  const words = (timeZone?: string) =>
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
    () => words(),
    () => words('UTC'),
  )
  return <time dateTime={instant}>{text}</time>
}
