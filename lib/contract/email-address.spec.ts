import { expect, test } from 'vitest'
import { emailDomain, emailForms, parseEmail, parseEmailAddress } from './email-address'

const accepted: Record<string, string> = {
  'ada@example.com': 'ada@example.com',
  'Ada.Lovelace+tag@EXAMPLE.com': 'Ada.Lovelace+tag@example.com',
  "o'neil@example.co.uk": "o'neil@example.co.uk",
  'ada@localhost': 'ada@localhost',
  'ada@bücher.example': 'ada@xn--bcher-kva.example',
  'ada@BÜCHER.example': 'ada@xn--bcher-kva.example',
  'ada@xn--bcher-kva.example': 'ada@xn--bcher-kva.example',
  'ada@例え。jp': 'ada@xn--r8jz45g.jp',
  'ada@نامه\u200cای.example': 'ada@xn--mgba3gch31f060k.example',
  'ada@I❤.example': 'ada@xn--i-7iq.example',
  'ada@paral·lel.example': 'ada@xn--parallel-koa.example',
  'märz@example.com': 'märz@example.com',
  [`${'x'.repeat(64)}@example.com`]: `${'x'.repeat(64)}@example.com`,
}
for (const [text, address] of Object.entries(accepted)) {
  test(`accepts ${text}`, () => expect(parseEmailAddress(text)).toBe(address))
}

const rejected: Record<string, string[]> = {
  'texts without exactly two parts': ['', '@', 'ada', 'ada@', '@example.com', 'a@b@c'],
  'several addresses': ['a@x, b@y', 'a@x,b@y', 'a@x;b@y', 'a@x b@y', 'ada@example.com,'],
  'separators in the name': [
    'a,b@example.com',
    'a;b@example.com',
    'a:b@example.com',
    'a\\b@example.com',
  ],
  blanks: [' ada@example.com', 'ada@exa mple.com'],
  'ends of lines': ['ada@example.com\n', 'ada\r\nBcc:eve@example.com'],
  'invisible characters': [
    'ada\u0000@example.com',
    'ada\u2028@example.com',
    'ada\u202e@example.com',
  ],
  'quotes, comments and display names': [
    'Ada <ada@example.com>',
    '"a@b"@example.com',
    'ada(comment)@example.com',
  ],
  'IP addresses': ['ada@[127.0.0.1]', 'ada@127.0.0.1', 'ada@127.1', 'ada@0x7f000001'],
  'percent-encoding, paths and queries': [
    'ada@exa%6dple.com',
    'ada@example.com/path',
    'ada@example.com?x',
  ],
  'misplaced dots': [
    'ada@example..com',
    'ada@example.com.',
    '.ada@x',
    'ada.@x',
    'a..da@x',
  ],
  'a hyphen that begins a domain': ['ada@-example.com'],
  'Punycode that decodes to another domain': [
    'ada@xn---r8jz45g.jp',
    'ada@xn--example-.com',
  ],
  'long names': [
    `${'x'.repeat(65)}@example.com`,
    `${'ü'.repeat(33)}@example.com`,
    `${'x'.repeat(10_000)}@example.com`,
  ],
  'long domains': [`ada@${'x'.repeat(64)}.com`, `ada@${'xy.'.repeat(90)}com`],
}
for (const [what, texts] of Object.entries(rejected)) {
  test(`rejects ${what}`, () => {
    for (const text of texts)
      expect(parseEmailAddress(text), JSON.stringify(text)).toBeNull()
  })
}

test('the domain of an address is stored in ASCII if it can be converted, otherwise unchanged', () => {
  const domains = [
    'ada@bücher.example',
    'ada@bu\u0308cher.example',
    'ada@xn--bcher-kva.example',
  ].map(emailDomain)
  expect(new Set(domains)).toEqual(new Set(['xn--bcher-kva.example']))
  expect(
    ['"a@b"@localhost', 'ada@-x.example', 'ada@a b', 'nobody'].map(emailDomain),
  ).toEqual([...['localhost', '-x.example', 'a b', 'nobody']])
})

test('a host name has exactly one Unicode form, in lower case', () => {
  expect(emailForms('EVE@Ꭰ.example')).toEqual([
    'eve@ꭰ.example',
    'eve@xn--58d.example',
    'eve@ꭰ.example',
  ])
  expect(emailForms('eve@xn--58d.example')?.[2]).toBe('eve@ꭰ.example')
})

test('the Unicode form and the ASCII form of a domain convert into each other', () => {
  const others: string[] = []
  for (let codePoint = 0xa0; codePoint < 0x2_ffff; codePoint += 1) {
    const character = String.fromCodePoint(codePoint)
    // Skips marks, symbols and letters without case, because each of them has only one
    // form.
    if (
      /[\p{Lo}\p{M}\p{S}\p{Unassigned}\p{Private_Use}]/u.test(character) &&
      character.normalize('NFKC') === character
    )
      continue
    const forms = emailForms(`ada@a${character}.example`)
    const again = forms && emailForms(forms[2])
    if (forms && again?.[1] !== forms[1]) others.push(forms[0])
  }
  expect(others).toEqual([])
})

test('an address in upper case and one in lower case are the same account, so their attempts are counted together', () => {
  for (const text of ['ada@groß.example', 'ADA@GROẞ.example', ' Ada@Groß.Example '])
    expect(parseEmail(text), text).toEqual([
      'ada@groß.example',
      'ada@xn--gro-7ka.example',
      'ada@groß.example',
    ])
  const given = 'ada@xn--gro-7ka.example' // the user may be stored with the Unicode form
  expect(parseEmail(given.toUpperCase())).toEqual([given, given, 'ada@groß.example'])
})
