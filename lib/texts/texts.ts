import { env } from '../settings/env'
import { ar } from './ar'
import { de } from './de'
import { en, type Texts } from './en'
import { es } from './es'
import { fr } from './fr'
import { chooseLanguage, isLanguage, type Language } from './language'

type MakeTexts = (app: string, passwordMinLength: number) => Texts

const languageTexts: Record<Language, MakeTexts> = { en, de, fr, es, ar }

const made: Partial<Record<Language, Texts>> = {} // created once per language

/**
 * Returns the texts in a language, or in English if the language is no longer supported.
 */
export function textsIn(language: string): Texts {
  const tag = isLanguage(language) ? language : 'en'
  made[tag] ??= languageTexts[tag](env().APP_NAME, env().PASSWORD_MIN_LENGTH)
  return made[tag]
}

/** Returns the texts of the pages in the best language for the headers of a request. */
export function textsFor(requestHeaders: Headers): Texts {
  return textsIn(chooseLanguage(requestHeaders))
}
