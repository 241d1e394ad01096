import { expect, test } from 'vitest'
import { parseEmail } from './email-address'
import { cleanCode, cleanEmail } from './typed-text'

const digits: Record<string, string> = {
  'full-width, of a Japanese input method': '１２３４５６',
  Devanagari: '१२३४५६',
  Bengali: '১২৩৪৫৬',
  Thai: '๑๒๓๔๕๖',
  'Arabic-Indic': '١٢٣٤٥٦',
  Persian: '۱۲۳۴۵۶',
  Khmer: '១២៣៤៥៦',
  'mathematical, bold and monospace': '𝟏𝟐𝟑𝟺𝟻𝟼',
  'several scripts': '1२３٤๕6',
  'emoji of keycaps': '1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣',
}
test.each(Object.entries(digits))('a code can have digits: %s', (_, typed) => {
  expect(cleanCode(typed)).toBe('123456')
})

test('the digits of every script are converted', () => {
  const found: string[] = []
  for (let codePoint = 0; codePoint < 0x11_0000; codePoint += 1) {
    const character = String.fromCodePoint(codePoint)
    if (/\p{Nd}/u.test(character)) found.push(cleanCode(character))
  }
  expect(found.length).toBeGreaterThan(500)
  expect(found.join('')).toBe('0123456789'.repeat(found.length / 10))
})

const groupings = [
  ' 123 456\r\n',
  '123-456',
  '123.456',
  '123,456',
  '123_456',
  '123·456',
  '(123) 456',
  '123\u00A0456', // no-break space
  '123\u202F456', // narrow no-break space
  '123\u3000456', // ideographic space
  '12 34\u200B56', // zero-width space
  '\u200E123\u2060456\u200F', // bidi marks, word joiner
  '\u2066123\u2069456\u202C', // bidi isolates
  '\uFEFF123\u00AD456', // byte-order mark, soft hyphen
  '123\u3164456', // Hangul filler
  '123\u2800456', // Braille blank
  '123\u2010456', // hyphen
  '123\u2011456', // no-break hyphen
  '123\u2013456', // en dash
  '123\u2014456', // em dash
  '123\u2212456', // minus sign
  '123\uFF0D456', // full-width hyphen
  '123\uFE63456', // small hyphen
  '123\u30FC456', // long vowel mark, the hyphen key of a Japanese input method
  '123\uFF70456', // the same, half-width
  '123\u3002456', // ideographic full stop
  '123\u066C456', // Arabic thousands separator
]
test.each(groupings)('a code can be grouped: %j', (typed) => {
  expect(cleanCode(typed)).toBe('123456')
})

test('letters and symbols of a code are kept, and a long text is no code', () => {
  expect(cleanCode('12345x')).toBe('12345x')
  expect(cleanCode('7k3m9q-Xat2vd')).toBe('7k3m9qXat2vd')
  expect(cleanCode('+12345²')).toBe('+12345²')
  expect(cleanCode(`${' '.repeat(995)}123456`)).toBe('')
})

const addresses: Record<string, string> = {
  spaces: ' \u00A0ada@example.com\u3000\n',
  'a space next to the @': 'ada @ example.com',
  'zero-width spaces': '\u200Bada@\u200Bexample.com\u200B',
  'a byte-order mark': '\uFEFFada@example.com',
  'bidi marks': '\u202Aada@example.com\u202C\u200E',
  'soft hyphens': 'ada@exam\u00ADple.com',
  'a joiner between ASCII characters': 'ada\u200D@example\u200C.com\u200D',
  'a full-width @': 'ada＠example.com',
  'full-width letters': 'ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ',
  'a small @': 'ada﹫example.com',
  'angle brackets': '<ada@example.com>',
  'a name': 'Ada Lovelace <ada@example.com>',
  'a name in quotes': '"Lovelace, Ada" <ada@example.com>;',
  'the address as the name': 'ada@example.com <ada@example.com>',
  'a link': 'mailto:ada@example.com',
  'a link with a subject': 'MAILTO:ada@example.com?subject=Hello',
  'a link in angle brackets': '<mailto:ada@example.com>',
  quotes: '"ada@example.com"',
  apostrophes: "'ada@example.com'",
  'German quotes': '„ada@example.com“',
  parentheses: '(ada@example.com)',
  'a final dot': 'ada@example.com.',
  'a final comma': 'ada@example.com, ',
  'a final semicolon': 'ada@example.com;',
  'a final full-width comma': 'ada@example.com，',
  'a final ideographic full stop': 'ada@example.com。',
  'a final Arabic comma': 'ada@example.com،',
}
test.each(Object.entries(addresses))('an address can be typed with %s', (_, typed) => {
  expect(cleanEmail(typed)).toBe('ada@example.com')
  expect(parseEmail(typed)[1]).toBe('ada@example.com')
})

test('what belongs to an address is kept', () => {
  for (const address of [
    'o\u2019neil+tag=x?y!@example.com',
    "'ada@example.com",
    'ada@نامه\u200Cای.example',
    'ﬁ½@example.com',
    'märz@bücher.example',
  ])
    expect(cleanEmail(address)).toBe(address)
})

const several = [
  'ada@example.com, eve@example.com',
  'Ada <ada@example.com>, Eve <eve@example.com>',
  'mailto:ada@example.com,eve@example.com',
  'ada@example.com\r\nBcc: eve@example.com',
  'ada\n@example.com',
  'ada lovelace@example.com',
  'ada (at) example.com',
  'ada@\u0000example.com',
  '<>',
  '',
  `${' '.repeat(1_000)}ada@example.com`,
]
test.each(several)('is not one address: %j', (typed) => {
  expect(() => parseEmail(typed)).toThrow('Enter one email address')
})
