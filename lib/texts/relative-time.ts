const units = { day: 24 * 60 * 60, hour: 60 * 60, minute: 60, second: 1 }

/**
 * Formats how far an instant is from now, such as “in 12 minutes”, “in 7 days” or “2
 * hours ago”.
 */
export function formatRelativeTime(seconds: number, language: string): string {
  const [unit, size] = Object.entries(units).find(
    ([, size]) => Math.abs(seconds) >= 1.5 * size,
  ) ?? ['second', 1]
  const format = new Intl.RelativeTimeFormat(language, {
    numeric: size === 1 ? 'auto' : 'always',
  }) // for “now”
  return format.format(Math.ceil(seconds / size), unit as keyof typeof units)
}

/** Formats a duration, such as “1 minute” or “7 days”. */
export function divideTime(seconds: number, language: string): string {
  const [unit, size] = Object.entries(units).find(([, size]) => seconds % size === 0)!
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit,
    unitDisplay: 'long',
  }).format(seconds / size)
}
