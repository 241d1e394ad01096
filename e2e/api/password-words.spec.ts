import bcrypt from 'bcryptjs'
import { type ApiResponse, expect, newToken, resetPath, type Sql, test, type User } from '../support/fixtures'

test('the user’s names are guessable', async ({ user, post, sql }) => {
  await sql('UPDATE users SET email = $1 WHERE id = $2', [`zöe.grüßhold.${user.id.slice(0, 4)}@example.com`, user.id])
  const token = await newToken(user)
  for (const password of ['Grüßhold1!', 'zoegruesshold'])
    expect(codeOf(await post(resetPath, { token, password })), password).toBe('too_guessable')
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

function codeOf({ status, body }: ApiResponse): string | number {
  return body.issues?.[0]?.code ?? status
}

async function hashOf(sql: Sql, user: User): Promise<string> {
  return (await sql('SELECT password_hash FROM users WHERE id = $1', [user.id]))[0]!.password_hash
}
