import { expect, test } from 'vitest'
import { parseEmail } from './parse-email'

test('an address has the same forms in any case, so that its attempts are counted together', () => {
  for (const text of ['ada@groß.example', 'ADA@GROẞ.example', ' Ada@Groß.Example '])
    expect(parseEmail(text), text).toEqual(['ada@groß.example', 'ada@xn--gro-7ka.example', 'ada@groß.example'])
})

test('an address in ASCII has a form in Unicode, because its user may be stored so', () => {
  const given = 'ada@xn--gro-7ka.example'
  expect(parseEmail(given.toUpperCase())).toEqual([given, given, 'ada@groß.example'])
})
