/**
 * The tag of each language, and its name in that language. To add one, add it here, a file
 * in texts/, its line in texts.ts, and a block in crash-texts.json and in
 * weakness-texts.json.
 */
export const languages = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  ar: 'العربية',
}

export type Language = keyof typeof languages

const maxHeaderLength = 512 // more than browsers send; the rest is ignored

export function isLanguage(tag: string): tag is Language {
  return Object.hasOwn(languages, tag)
}

/**
 * Returns the language that the user chose in the footer, or else the best for
 * `Accept-Language`.
 */
export function chooseLanguage(requestHeaders: Headers): Language {
  const [, chosen = ''] =
    /(?:^|; ?)language=([a-z]{2})(?:;|$)/.exec(requestHeaders.get('cookie') ?? '') ?? []
  return isLanguage(chosen)
    ? chosen
    : preferredLanguage(requestHeaders.get('accept-language'))
}

/**
 * Returns the locale for dates: the first regional form of the page's language in
 * `Accept-Language`, such as en-GB.
 */
export function readLocale(requestHeaders: Headers): string {
  const language = chooseLanguage(requestHeaders)
  const header = requestHeaders.get('accept-language')?.slice(0, maxHeaderLength) ?? ''
  return (
    new RegExp(`\\b${language}-(?:[a-z]{2}|\\d{3})\\b`, 'i').exec(header)?.[0] ?? language
  )
}

/**
 * Returns the supported language that an `Accept-Language` header prefers (RFC 9110
 * §12.5.4), or English.
 */
export function preferredLanguage(header: string | null): Language {
  let best = { language: 'en' as Language, weight: 0 }
  for (const range of header?.slice(0, maxHeaderLength).toLowerCase().split(',') ?? []) {
    const [tag = '', quality = 'q=1'] = range.split(';').map((text) => text.trim())
    const [language = '', weight] = [
      tag.split('-')[0],
      Number(quality.slice('q='.length)),
    ]
    if (weight > best.weight && isLanguage(language)) best = { language, weight }
  }

  return best.language
}
