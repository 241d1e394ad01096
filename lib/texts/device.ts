// more than browsers send; the matching time grows with the square of the length
const maxHeaderLength = 512
const browsers = {
  'Edg(e|A|iOS)?/': 'Edge',
  'OPR/|Opera': 'Opera',
  'SamsungBrowser/': 'Samsung Internet',
  'Firefox/|FxiOS/': 'Firefox',
  'Chrome/|CriOS/|Chromium/': 'Chrome',
  'Version/.* Safari/': 'Safari',
}
const systems = {
  iPhone: 'iPhone',
  iPad: 'iPad',
  Android: 'Android',
  CrOS: 'ChromeOS',
  Windows: 'Windows',
  'Mac OS X': 'macOS',
  Linux: 'Linux',
}

/**
 * Returns the name of a device in a language. `text` is the “{browser} on {system}” of
 * that language.
 */
export function deviceIn(text: string, device: string): string {
  const [browser = '', system] = device.split(' on ')
  return system ? text.replace('{browser}', browser).replace('{system}', system) : browser
}

/**
 * Returns the device of a `User-Agent` header, such as “Firefox on Windows”, or null.
 * Copies no text of the header.
 */
export function deviceOf(userAgent: string | null): string | null {
  const text = userAgent?.slice(0, maxHeaderLength) ?? ''
  const find = (names: Record<string, string>) =>
    Object.entries(names).find(([pattern]) => new RegExp(pattern).test(text))?.[1]
  return [find(browsers), find(systems)].filter(Boolean).join(' on ') || null
}
