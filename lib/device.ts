const maxHeaderLength = 512 // browsers send less, and the patterns take time quadratic in it
const browsers = compiled({
  'Edg(e|A|iOS)?/': 'Edge',
  'OPR/|Opera': 'Opera',
  'SamsungBrowser/': 'Samsung Internet',
  'Firefox/|FxiOS/': 'Firefox',
  'Chrome/|CriOS/|Chromium/': 'Chrome',
  'Version/.* Safari/': 'Safari',
})
const systems = compiled({
  iPhone: 'iPhone',
  iPad: 'iPad',
  Android: 'Android',
  CrOS: 'ChromeOS',
  Windows: 'Windows',
  'Mac OS X': 'macOS',
  Linux: 'Linux',
})

function compiled(names: Record<string, string>): [RegExp, string][] {
  return Object.entries(names).map(([pattern, name]) => [new RegExp(pattern), name])
}

/** Returns a kind of device in a language, by its text such as “{browser} on {system}”. */
export function deviceIn(text: string, device: string): string {
  const [browser = '', system] = device.split(' on ')
  return system ? text.replace('{browser}', browser).replace('{system}', system) : browser
}

/**
 * Returns the kind of device in a `User-Agent` header, such as “Firefox on Windows”, or null. Only
 * our own words: the header itself is never stored or sent.
 */
export function deviceOf(userAgent: string | null): string | null {
  const text = userAgent?.slice(0, maxHeaderLength) ?? ''
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(text))?.[1]
  const [browser, system] = [find(browsers), find(systems)]
  return browser && system ? `${browser} on ${system}` : (browser ?? system ?? null)
}
