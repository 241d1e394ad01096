/** Formats a wait, such as “in 40 seconds” or “in 12 minutes”. */
export function inRelativeTime(seconds: number, language: string): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' })
  return seconds < 90 ? format.format(seconds, 'second') : format.format(Math.ceil(seconds / 60), 'minute')
}

const units = { day: 24 * 60 * 60, hour: 60 * 60, minute: 60, second: 1 }

/** Formats a duration, such as “1 minute” or “7 days”. */
export function inUnits(seconds: number, language: string): string {
  const [unit, size] = Object.entries(units).find(([, size]) => seconds % size === 0)!
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size)
}
