import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { countGuesses } from './strength'
import { minGuesses } from './thresholds'

const context = ['ada.lovelace.1815@example.com', 'Dashboard']
const isGuessable = (password: string) => !(countGuesses(password, context) >= minGuesses)

/** The same passwords in every run. */
function randomPasswords(count: number, length: number, alphabet: string): string[] {
  let state = 20261121
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return alphabet[Math.floor((state / 2 ** 32) * alphabet.length)]!
  }
  return Array.from({ length: count }, () => Array.from({ length }, next).join(''))
}

const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')

test('eight random characters pass, but for a tiny share; what the list knows does not', () => {
  const rejected = randomPasswords(250, 8, printable).filter(isGuessable)
  expect(rejected.length, rejected.join(' ')).toBeLessThanOrEqual(2)
  const alphanumeric = randomPasswords(250, 8, printable.replace(/[^a-z0-9]/gi, '')).filter(isGuessable)
  expect(alphanumeric.length, alphanumeric.join(' ')).toBeLessThanOrEqual(3)
  for (const password of ['Passwort123!', 'hallo123welt', 'été-2026', 'مرحبا123!'])
    expect(isGuessable(password), password).toBe(true)
})

test('the worst password costs less than 50 ms of CPU', () => {
  const worst = [
    'P4$$w0rd'.repeat(9),
    'p4$$w0rdP4$$w0rdP4$$w0rd$4$&€$wérd$i'.repeat(2),
    '$@!10|375'.repeat(8),
    'ﷺ'.repeat(24),
  ]
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

/** Unrelated words, of which at most one is in the list. */
const passphrases = {
  English: 'lantern meadow otter',
  German: 'Sommer-Laterne-Violine',
  French: 'armoire tambour cerf',
  Spanish: 'zapato nube lámpara',
  Arabic: 'مفتاح غابة نافذة زجاج',
  'Arabic in Latin letters': 'shubbak ghaba zujaj',
}

/** Passwords of common words, separated by commas. */
const guessable = {
  English: `
    Welcome2026!, LetMeIn2026!, Summer-2026!, Liverpool2024!, ILoveYou123!, Monday12!, P@ssw0rd2026!,
    Christmas2025!, lordoftherings, GameOfThrones1, thequickbrownfox, YoullNeverWalkAlone`,
  German: `
    Passwort123!, Sommer2026!, ichliebedich, hallo123welt, Fußball2024, Fussball2024, FUSSBALL2024, FUẞBALL2024,
    Frühling2024!, Fruehling2024!, FRÜHLING2024!, Dezember24!, Montag123!, Jürgen1970, Juergen1970, Schalke04!,
    BayernMünchen1, meinpasswort, lassmichrein, keineahnung1, Kartoffelsalat!, Mein Passwort 123, Kennwort1!,
    Willkommen1!, HalloWelt2026!, Ich.liebe.dich.1, S0mmer2026!, qwertz123!`,
  French: `
    motdepasse, MotDePasse123!, Été2026!, Ete2026!, été-2026, ÉTÉ2026!, Bonjour123!, jetaime123, jet'aime2024,
    MonAmour2024!, AllezLesBleus1998, Août2025!, Mercredi12!, Noël2025!, azerty123!, François1, Marseille2024!`,
  Spanish: `
    contraseña, Contraseña2024!, contrasena123, Miércoles1!, tequiero123, te quiero mucho, teAmo12345, holamundo1,
    Otoño2025!, FelizNavidad2025!, RealMadrid2024!, Barcelona10!, Febrero2025!, mivida2024, José2024!`,
  Arabic: `
    كلمةالسر123, كلمة السر 2024, كلمهالسر١٢٣, السلامعليكم, السَّلامُ عليكم, صباح الخير 123, مرحبا123!, حبيبي٢٠٢٤,
    محمد123456, أحمد2024!, الحمدلله1, رمضان2026!, الأهلي1907!`,
  'Arabic in Latin letters': `
    ahlanwasahlan, habibi123, 7abibi123!, mar7aba2024, salam123456, Bismillah786, alhamdulillah1, inshallah!,
    Mohammed2024!, mo7amed2024, Ramadan2026!, kalimatalsirr, AhmedAhmed1`,
}

for (const [language, list] of Object.entries(guessable)) {
  test(`common words are guessable, unrelated words are not: ${language}`, () => {
    const passwords = list.trim().split(/,\s+/)
    expect(passwords.filter((password) => !isGuessable(password))).toEqual([])
    expect(isGuessable(passphrases[language as keyof typeof passphrases])).toBe(false)
  })
}

test('the user’s names are guessable in every spelling', () => {
  const zoe = ['zöe.grüßhold.1815@example.com', 'Dashboard']
  for (const password of ['Grüßhold1!', 'Grusshold1!', 'gruesshold1', 'GRÜSSHOLD1!', 'zoegruesshold'])
    expect(countGuesses(password, zoe), password).toBeLessThan(minGuesses)
})

test('only the first 36 characters are checked', () => {
  const unrelated = 'fjord violin quartz'
  const checked = 'passwort'.repeat(4).concat('1234')
  expect(checked).toHaveLength(36)
  expect(isGuessable(checked + unrelated)).toBe(true)
  expect(isGuessable(`${checked.slice(0, 24)} ${unrelated}`)).toBe(false)
})

test('the list is at most 20 KB, because browsers download it', () => {
  expect(statSync(new URL('words.ts', import.meta.url)).size).toBeLessThanOrEqual(20 * 1024)
})
