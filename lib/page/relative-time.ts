/** Formats a wait, such as “in 40 seconds” or “in 12 minutes”. */
export function inRelativeTime(seconds: number, language: string): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' })
  return seconds < 90 ? format.format(seconds, 'second') : format.format(Math.ceil(seconds / 60), 'minute')
}

/** Formats a duration, such as “1 minute” or “12 hours”. */
export function inUnits(seconds: number, language: string): string {
  const [size, unit] = seconds % 3600 === 0 ? [3600, 'hour'] : seconds % 60 === 0 ? [60, 'minute'] : [1, 'second']
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / Number(size))
}
