import { headers } from 'next/headers'
import { env } from '../settings/env'
import { de } from './texts/de'
import { en, type Texts } from './texts/en'

/** A language is one file, and one word here. */
const languages = { en, de }

type Language = keyof typeof languages

const headerCharacters = 512 // no browser sends more

/** The words of the pages, in the language that the person's browser asks for. */
export async function texts(): Promise<Texts> {
  return textsFor((await headers()).get('accept-language'))
}

/** The words of the pages, in the best language for an `Accept-Language` header. */
export function textsFor(acceptLanguage: string | null): Texts {
  return languages[preferredLanguage(acceptLanguage)](env().APP_NAME, env().PASSWORD_MIN_LENGTH)
}

/** The best of our languages by an `Accept-Language` header (RFC 9110 §12.5.4); English where none of them is asked for. */
export function preferredLanguage(header: string | null): Language {
  const ranges = (header ?? '')
    .slice(0, headerCharacters)
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [tag = '', weight = 'q=1'] = range.split(';').map((text) => text.trim())
      return { language: tag.split('-')[0]!, weight: Number(weight.slice('q='.length)) }
    })
  const wanted = ranges
    .filter(({ language, weight }) => weight > 0 && Object.hasOwn(languages, language))
    .sort((a, b) => b.weight - a.weight)
  return (wanted[0]?.language as Language | undefined) ?? 'en'
}
