import { expect, test } from 'vitest'
import { minGuesses } from './format'
import { countGuesses, estimateStrength } from './strength'

const context = ['ada.lovelace.1815@example.com', 'Dashboard']
const isGuessable = (password: string) => !(countGuesses(password, context) >= minGuesses)

/** Returns the same random passwords in every run. */
function randomPasswords(count: number, length: number, alphabet: string): string[] {
  let state = 20261121
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return alphabet[Math.floor((state / 2 ** 32) * alphabet.length)]!
  }
  return Array.from({ length: count }, () => Array.from({ length }, next).join(''))
}

const printable = Array.from({ length: 94 }, (_, index) =>
  String.fromCharCode(33 + index),
).join('')

test('nearly all passwords of eight random characters pass', () => {
  const rejected = randomPasswords(250, 8, printable).filter(isGuessable)
  expect(rejected.length, rejected.join(' ')).toBeLessThanOrEqual(2)
  const alphanumeric = randomPasswords(
    250,
    8,
    printable.replace(/[^a-z0-9]/gi, ''),
  ).filter(isGuessable)
  expect(alphanumeric.length, alphanumeric.join(' ')).toBeLessThanOrEqual(3)
})

test.each([
  ...[
    'Password123!',
    'P@ssw0rd',
    'qwertyuiop',
    '12345678',
    'aaaaaaaaaaaaaaaa',
    'letmein123',
    'Summer2026!',
  ],
  ...[
    'dashboard2026',
    'Lovelace1815!',
    'ada.lovelace.1815@example.com1',
    'ADA.LOVELACE.1815@EXAMPLE.COM1',
  ],
])('%s is guessable', (password) => expect(isGuessable(password)).toBe(true))

test.each([
  'lantern meadow otter',
  'Sommer-Laterne-Violine',
  'zapato nube lámpara',
  'مفتاح غابة نافذة زجاج',
])('unrelated words are not guessable: %s', (password) =>
  expect(isGuessable(password)).toBe(false),
)

test.each([
  ['sunshine1', 'common'],
  ['P@ssw0rd', 'common'],
  ['Lovelace1815!', 'personal'],
  ['dashboard2', 'personal'],
  ['uiophjkl;', 'pattern'],
  ['abcdefgh', 'pattern'],
  ['aaaaaaaa', 'pattern'],
  ['17.05.1994', 'date'],
  ['tinderbox', 'word'],
  ['x8#Kq2!m', null],
])('the weakness of %s is %s', (password, weakness) =>
  expect(estimateStrength(password, context).weakness).toBe(weakness),
)

test('all Unicode forms of a password get the same rating', () => {
  const zoe = ['zöe.grüßhold@example.com']
  for (const form of ['NFC', 'NFD'])
    expect(countGuesses('Grüßhold1!'.normalize(form), zoe), form).toBeLessThan(minGuesses)
})

test('the slowest password takes less than 50 ms of CPU time', () => {
  const longer = 'p4$$w0rdP4$$w0rdP4$$w0rd$4$&€$wérd$i'.repeat(2)
  const worst = ['P4$$w0rd'.repeat(9), longer, '$@!10|375'.repeat(8), 'ﷺ'.repeat(24)]
  for (const password of worst) countGuesses(password, context)
  for (const password of worst) {
    const costs = Array.from({ length: 9 }, () => {
      const before = process.cpuUsage()
      countGuesses(password, context)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }).sort((a, b) => a - b)
    expect(costs[4]!, password).toBeLessThan(50)
  }
})

test('only the first 36 characters are checked', () => {
  const unrelated = 'fjord violin quartz'
  const checked = 'password'.repeat(4).concat('1234')
  expect(checked).toHaveLength(36)
  expect(isGuessable(checked + unrelated)).toBe(true)
  expect(isGuessable(`${checked.slice(0, 24)} ${unrelated}`)).toBe(false)
  const longName = `${'x8#Kq2!m'.repeat(5)}@example.com`
  expect(countGuesses(longName, [longName])).toBeLessThan(minGuesses)
})
