import { headers } from 'next/headers'
import { env } from '../settings/env'
import { de } from './texts/de'
import { en, type Texts } from './texts/en'

/** To add a language, add a file in texts/ and its tag here. */
const languages = { en, de }

type Language = keyof typeof languages

const maxHeaderLength = 512 // browsers send less; a longer header is cut

/** Returns the texts of the pages in the language of the current request. */
export async function texts(): Promise<Texts> {
  return textsFor((await headers()).get('accept-language'))
}

/** Returns the texts of the pages in the best language for an `Accept-Language` header. */
export function textsFor(acceptLanguage: string | null): Texts {
  return textsIn(preferredLanguage(acceptLanguage))
}

/** Returns the texts in a language, or in English if it is not supported any more. */
export function textsIn(language: string): Texts {
  const texts = Object.hasOwn(languages, language) ? languages[language as Language] : languages.en
  return texts(env().APP_NAME, env().PASSWORD_MIN_LENGTH)
}

/**
 * Returns the supported language that an `Accept-Language` header prefers (RFC 9110 §12.5.4), or
 * English.
 */
export function preferredLanguage(header: string | null): Language {
  const ranges = (header ?? '')
    .slice(0, maxHeaderLength)
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [tag = '', weight = 'q=1'] = range.split(';').map((text) => text.trim())
      return { language: tag.split('-')[0]!, weight: Number(weight.slice('q='.length)) }
    })
  const supported = ranges
    .filter(({ language, weight }) => weight > 0 && Object.hasOwn(languages, language))
    .sort((a, b) => b.weight - a.weight)
  return (supported[0]?.language as Language | undefined) ?? 'en'
}
