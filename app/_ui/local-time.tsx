'use client'

import { useSyncExternalStore } from 'react'

/**
 * Formats an instant (ISO 8601) in a language: in UTC on the server, in the user's time zone once
 * scripts run.
 */
export function LocalTime({ instant, language }: { instant: string; language: string }) {
  const format = (locale: string, timeZone?: string) =>
    new Intl.DateTimeFormat(locale, {
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
    () => format(ownLocale(language)),
    () => format(language, 'UTC'),
  )
  return <time dateTime={instant}>{text}</time>
}

/** Returns the user's own variety of a language, such as British English, for its format of dates. */
function ownLocale(language: string): string {
  return navigator.languages.find((locale) => locale.split('-')[0] === language) ?? language
}
