import { headers } from 'next/headers'
import { env } from '../settings/env'
import { ar } from './ar'
import { de } from './de'
import { en, type Texts } from './en'
import { es } from './es'
import { fr } from './fr'

/**
 * To add a language, add a file in texts/, its tag here, and a block in crash-texts.json
 * and in weakness-texts.json.
 */
const languageTexts = { en, de, fr, es, ar }

type Language = keyof typeof languageTexts

const isLanguage = (tag: string): tag is Language => Object.hasOwn(languageTexts, tag)

const made: Partial<Record<Language, Texts>> = {} // created once per language

const maxHeaderLength = 512 // more than browsers send; the rest is ignored

/** Returns the tag of each language and its name in that language, for a list. */
export function languages(): [tag: string, name: string][] {
  return Object.keys(languageTexts).map((tag) => [tag, textsIn(tag).name])
}

/** Returns the texts of the pages in the language of the current request. */
export async function texts(): Promise<Texts> {
  return textsFor(await headers())
}

/** Returns the texts of the pages in the best language for the headers of a request. */
export function textsFor(requestHeaders: Headers): Texts {
  return textsIn(chooseLanguage(requestHeaders))
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
 * Returns the texts in a language, or in English if the language is no longer supported.
 */
export function textsIn(language: string): Texts {
  const tag = isLanguage(language) ? language : 'en'
  made[tag] ??= languageTexts[tag](env().APP_NAME, env().PASSWORD_MIN_LENGTH)
  return made[tag]
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
