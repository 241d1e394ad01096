import { statSync } from 'node:fs'
import bcrypt from 'bcryptjs'
import { project } from '../../bin/local'
import { type ApiResponse, expect, newToken, resetPath, type Sql, test, type User } from '../support/fixtures'

/** Unrelated words, of which at most one is in the list. */
const passphrases = {
  English: 'lantern meadow otter',
  German: 'Sommer-Laterne-Violine',
  French: 'armoire tambour cerf',
  Spanish: 'zapato nube lámpara',
  Arabic: 'مفتاح غابة نافذة زجاج',
  'Arabic in Latin letters': 'shubbak ghaba zujaj',
}

const guessable = {
  English: [
    'Welcome2026!',
    'LetMeIn2026!',
    'Summer-2026!',
    'Liverpool2024!',
    'ILoveYou123!',
    'Monday12!',
    'P@ssw0rd2026!',
    'Christmas2025!',
    'lordoftherings',
    'GameOfThrones1',
    'thequickbrownfox',
    'YoullNeverWalkAlone',
  ],
  German: [
    ...[
      'Passwort123!',
      'Sommer2026!',
      'ichliebedich',
      'hallo123welt',
      'Fußball2024',
      'Fussball2024',
      'FUSSBALL2024',
      'FUẞBALL2024',
    ],
    ...[
      'Frühling2024!',
      'Fruehling2024!',
      'FRÜHLING2024!',
      'Dezember24!',
      'Montag123!',
      'Jürgen1970',
      'Juergen1970',
      'Schalke04!',
      'BayernMünchen1',
    ],
    ...[
      'meinpasswort',
      'lassmichrein',
      'keineahnung1',
      'Kartoffelsalat!',
      'Mein Passwort 123',
      'Kennwort1!',
      'Willkommen1!',
      'HalloWelt2026!',
      'Ich.liebe.dich.1',
      'S0mmer2026!',
      'qwertz123!',
    ],
  ],
  French: [
    ...[
      'motdepasse',
      'MotDePasse123!',
      'Été2026!',
      'Ete2026!',
      'été-2026',
      'ÉTÉ2026!',
      'Bonjour123!',
      'jetaime123',
      "jet'aime2024",
      'MonAmour2024!',
    ],
    ...['AllezLesBleus1998', 'Août2025!', 'Mercredi12!', 'Noël2025!', 'azerty123!', 'François1', 'Marseille2024!'],
  ],
  Spanish: [
    ...[
      'contraseña',
      'Contraseña2024!',
      'contrasena123',
      'Miércoles1!',
      'tequiero123',
      'te quiero mucho',
      'teAmo12345',
      'holamundo1',
      'Otoño2025!',
    ],
    ...['FelizNavidad2025!', 'RealMadrid2024!', 'Barcelona10!', 'Febrero2025!', 'mivida2024', 'José2024!'],
  ],
  Arabic: [
    ...[
      'كلمةالسر123',
      'كلمة السر 2024',
      'كلمهالسر١٢٣',
      'السلامعليكم',
      'السَّلامُ عليكم',
      'صباح الخير 123',
      'مرحبا123!',
      'حبيبي٢٠٢٤',
      'محمد123456',
    ],
    ...['أحمد2024!', 'الحمدلله1', 'رمضان2026!', 'الأهلي1907!'],
  ],
  'Arabic in Latin letters': [
    ...[
      'ahlanwasahlan',
      'habibi123',
      '7abibi123!',
      'mar7aba2024',
      'salam123456',
      'Bismillah786',
      'alhamdulillah1',
      'inshallah!',
      'Mohammed2024!',
    ],
    ...['mo7amed2024', 'Ramadan2026!', 'kalimatalsirr', 'AhmedAhmed1'],
  ],
}

for (const [language, passwords] of Object.entries(guessable)) {
  test(`common words are guessable, unrelated words are not: ${language}`, async ({ user, post, sql }) => {
    let token = await newToken(user)
    for (const [index, password] of passwords.entries()) {
      if (index % 25 === 24) token = await newToken(user) // after 30 attempts a token is invalid
      expect(codeOf(await post(resetPath, { token, password })), password).toBe('too_guessable')
    }
    expect(await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])).toEqual([{ password_hash: null }])
    const passphrase = passphrases[language as keyof typeof passphrases]
    expect(codeOf(await post(resetPath, { token: await newToken(user), password: passphrase })), passphrase).toBe(200)
    expect(await bcrypt.compare(passphrase, await hashOf(sql, user))).toBe(true)
  })
}

test('the user’s names are guessable in every spelling', async ({ user, post, sql }) => {
  await sql('UPDATE users SET email = $1 WHERE id = $2', [`zöe.grüßhold.${user.id.slice(0, 4)}@example.com`, user.id])
  const token = await newToken(user)
  for (const password of ['Grüßhold1!', 'Grusshold1!', 'gruesshold1', 'GRÜSSHOLD1!', 'zoegruesshold'])
    expect(codeOf(await post(resetPath, { token, password })), password).toBe('too_guessable')
})

test('only the first 36 characters are checked', async ({ user, post }) => {
  const token = await newToken(user)
  const unrelated = 'fjord violin quartz'
  const judged = 'passwort'.repeat(4).concat('1234')
  expect(judged).toHaveLength(36)
  expect(codeOf(await post(resetPath, { token, password: judged + unrelated }))).toBe('too_guessable')
  expect(codeOf(await post(resetPath, { token, password: `${judged.slice(0, 24)} fjord violin quartz` }))).toBe(200)
})

test('the length is counted in composed characters, and the received bytes are hashed', async ({ user, post, sql }) => {
  const token = await newToken(user)
  const decomposed = (text: string) => text.normalize('NFD')
  expect(codeOf(await post(resetPath, { token, password: decomposed('éàüñôxq') }))).toBe('too_short') // 12 code points, 7 composed
  expect(codeOf(await post(resetPath, { token, password: decomposed('ö'.repeat(25)) }))).toBe('too_long') // 75 bytes, 50 composed
  for (const password of [
    decomposed('éàüñôxqw'),
    'ＦＪＯＲＤ ｖｉｏｌｉｎ',
    'FJÖRD-vîolin-Straße',
    'غابة نافذة زجاجٌ',
  ]) {
    expect(codeOf(await post(resetPath, { token: await newToken(user), password })), password).toBe(200)
    const hash = await hashOf(sql, user)
    expect(await bcrypt.compare(password, hash)).toBe(true)
    for (const other of [
      password.normalize('NFKC'),
      password.toLowerCase(),
      password.normalize('NFD').replace(/\p{M}/gu, ''),
    ])
      expect(await bcrypt.compare(other, hash), other).toBe(other === password)
  }
})

test('the list is at most 20 KB, because browsers download it', () => {
  expect(statSync(`${project}lib/password/words.ts`).size).toBeLessThanOrEqual(20 * 1024)
})

function codeOf({ status, body }: ApiResponse): string | number {
  return body.issues?.[0]?.code ?? status
}

async function hashOf(sql: Sql, user: User): Promise<string> {
  return (await sql('SELECT password_hash FROM users WHERE id = $1', [user.id]))[0]!.password_hash
}
