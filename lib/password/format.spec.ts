import { expect, test } from 'vitest'
import { formatIssue } from './format'

const decomposed = (text: string) => text.normalize('NFD')

const passwords: Record<string, string[]> = {
  too_short: ['', 'x8#Kq2!', '🦉🦊🐢🦔🐝🦋🐌', 'é8#Kq2!', decomposed('éàüñôxq')],
  // the last password has 72 bytes as typed, and 144 bytes in NFC
  too_long: [
    'lantern meadow '.repeat(5).slice(0, 73),
    '🦉'.repeat(19),
    'e\u0301'.repeat(8_000),
    '\ufb2c'.repeat(24),
  ],
  invalid_characters: [
    'lantern\0 river meadow',
    'lantern \ud83d river meadow',
    '\udc00lantern river meadow',
  ],
  null: [
    ...[
      'x8#Kq2!m',
      '🦉🐢lmQ8🦔🐝',
      ' lantern river meadow ',
      'x'.repeat(72),
      'Фонарь река луг',
    ],
    ...[decomposed('éàüñôxqw'), decomposed('ö'.repeat(36))], // 108 bytes as typed, 72 bytes in NFC
  ],
}

test.each(Object.entries(passwords))(
  'the format check of a password returns the issue %s',
  (issue, texts) => {
    for (const text of texts)
      expect(String(formatIssue(text, 8)), JSON.stringify(text)).toBe(issue)
  },
)
