export const units = { day: 24 * 60 * 60, hour: 60 * 60, minute: 60, second: 1 }

/**
 * The digits of all numbers and dates, as in the texts. By default, browsers and servers
 * choose different digits for Arabic.
 */
export const numberingSystem = 'latn'

/**
 * Formats how far an instant is from now, such as “in 12 minutes”, “in 7 days” or “2
 * hours ago”. A countdown shows seconds up to 89, because the next minute is rounded up.
 */
export function formatRelativeTime(seconds: number, language: string): string {
  const [unit, size] = Object.entries(units).find(
    ([, size]) => seconds >= 1.5 * size || -seconds >= size,
  ) ?? ['second', 1]
  const numeric = size === 1 ? 'auto' : 'always' // for “now”
  const options = { numberingSystem, numeric } as const // the types lack the first
  const format = new Intl.RelativeTimeFormat(language, options)
  return format.format(Math.ceil(seconds / size), unit as keyof typeof units)
}
