import { expect, test } from 'vitest'
import { chooseLanguage, languages, preferredLanguage } from './language'
import weaknessTexts from './weakness-texts.json'

const preferred = {
  '': 'en',
  de: 'de',
  'de-CH': 'de',
  'DE-at,en;q=0.5': 'de',
  'en-GB,de;q=0.9': 'en',
  'fr-CA,de;q=0.5,en;q=0.4': 'fr',
  es: 'es',
  'ar-EG': 'ar',
  'nl,de;q=0.5,en;q=0.4': 'de',
  nl: 'en',
  'de;q=0,en': 'en',
  'en;q=0.1, de;q=0.2': 'de',
  '*': 'en',
  'constructor,__proto__': 'en',
  ';;,=': 'en',
}

for (const [header, language] of Object.entries(preferred))
  test(`Accept-Language: ${header} selects ${language}`, () =>
    expect(preferredLanguage(header)).toBe(language))

test('a language that the user chose takes precedence over Accept-Language, if it exists', () => {
  const chosen = (cookie: string) =>
    chooseLanguage(new Headers({ Cookie: cookie, 'Accept-Language': 'de' }))
  expect(chosen('session=x; language=fr')).toBe('fr')
  expect(chosen('language=xx')).toBe('de')
})

test('every language says what makes a password weak', () => {
  expect(Object.keys(weaknessTexts)).toEqual(Object.keys(languages))
  for (const [tag, texts] of Object.entries(weaknessTexts))
    expect(Object.keys(texts), tag).toEqual(Object.keys(weaknessTexts.en))
})
