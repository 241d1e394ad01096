import { createHash } from 'node:crypto'
import bcrypt from 'bcryptjs'
import { lockRow } from '../support/databases/row-lock'
import {
  type ApiResponse,
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { otherValues } from '../support/servers/settings'

const invalidLink = {
  ok: false,
  code: 'VALIDATION_ERROR',
  message: expect.any(String),
  requestId: expect.any(String),
  issues: [{ path: ['token'], code: 'invalid_or_expired', message: expect.any(String) }],
}
const message = expect.any(String)
const passwordIssue = (code: string) => ({
  ...invalidLink,
  issues: [{ path: ['password'], code, message }],
})
const storedHash = async (sql: Sql, user: User) =>
  (await sql('SELECT password_hash FROM users WHERE id = $1', [user.id]))[0]!
    .password_hash as string | null

test('sets a password that another bcrypt library verifies, and starts no session', async ({
  user,
  post,
  sql,
}) => {
  const password = newPassword()
  const response = await post(resetPath, { token: await newToken(user), password })
  expect([response.status, response.body]).toEqual([200, { ok: true }])
  expect(response.headers.getSetCookie()).toEqual([])
  const hash = await storedHash(sql, user)
  expect(await bcrypt.compare(password, hash!)).toBe(true)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(
    0,
  )
})

test('a token is valid for an hour, and only its hash is stored', async ({
  user,
  sql,
}) => {
  const token = await newToken(user)
  expect(token).toMatch(/^[\w-]{43}$/)
  const columns = `token_hash, expires_at - created_at = interval '1 hour' AS hour`
  const [stored] = await sql(`SELECT ${columns} FROM reset_tokens WHERE user_id = $1`, [
    user.id,
  ])
  expect(stored).toEqual({
    token_hash: createHash('sha256').update(token).digest(),
    hour: true,
  })
})

test('every invalid link gets the same response, but the page names the reason', async ({
  user,
  post,
  sql,
  url,
}) => {
  const responses: ApiResponse[] = []
  const attempt = async (token: string, title = 'This link isn’t valid') => {
    for (const password of ['short', newPassword()])
      responses.push(
        await post(
          resetPath,
          { token, password },
          { 'X-Request-Id': 'the-same-for-all' },
        ),
      )
    // without a token in the query, a script looks for one in the fragment
    if (!token) return
    const html = await (await fetch(`${url}/reset-password?token=${token}`)).text()
    expect(html).toMatch(new RegExp(`<h1[^>]*>${title}</h1>`))
    for (const shown of [user.email, 'id="password"']) expect(html).not.toContain(shown)
  }
  const replaced = await newToken(user)
  await newToken(user)
  for (const token of ['fabricated', '', replaced]) await attempt(token)
  for (const [change, title] of [
    ['reset_tokens SET expires_at = now() WHERE user_id', 'This link has expired'],
    ['reset_tokens SET used_at = now() WHERE user_id', 'This link has already been used'],
    ['reset_tokens SET attempts = 30 WHERE user_id'],
    ['users SET disabled_at = now() WHERE id'],
    [`users SET disabled_at = NULL, password_policy = 'never' WHERE id`],
  ]) {
    const token = await newToken(user)
    await sql(`UPDATE ${change} = $1`, [user.id])
    await attempt(token, title)
    const [counted] = await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [
      user.id,
    ])
    expect(counted, change).toEqual({ attempts: change!.includes('attempts') ? 30 : 0 })
  }
  for (const { status, body } of responses)
    expect([status, body]).toEqual([
      400,
      { ...invalidLink, message: responses[0]!.body.message },
    ])
  expect(await storedHash(sql, user)).toBeNull()
})

test('a reset ends sessions and deletes unused codes only of its own user', async ({
  user,
  post,
  sql,
}) => {
  const [other] = (await newUsers(sql, 1)) as [User]
  for (const each of [user, user, other])
    expect((await post(exchangePath, { code: await newCode(each) })).status).toBe(200)
  const code = await newCode(user)
  const token = await newToken(user)
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
  expect((await post(resetPath, { token, password: newPassword() })).body).toEqual(
    invalidLink,
  )
  expect((await post(exchangePath, { code })).body.code).toBe('SSO_EXCHANGE_INVALID')
  const live =
    'SELECT user_id FROM sessions WHERE user_id IN ($1, $2) AND revoked_at IS NULL'
  expect(await sql(live, [user.id, other.id])).toEqual([{ user_id: other.id }])
  const codes = await sql(
    'SELECT used_at IS NOT NULL AS used FROM exchange_codes WHERE user_id = $1',
    [user.id],
  )
  // used codes are kept to detect reuse
  expect(codes).toEqual([{ used: true }, { used: true }])
})

for (const [what, change] of Object.entries({
  'the user is disabled': 'UPDATE users SET disabled_at = now() WHERE id = $1',
  'the user is restricted to SSO': `UPDATE users SET password_policy = 'never' WHERE id = $1`,
  // For the reset, the current time is the time at which its transaction began.
  'the token expires': `UPDATE reset_tokens SET expires_at = now() - interval '1 minute' WHERE user_id = $1`,
})) {
  test(`rejects a reset if ${what} while the reset waits for the user row`, async ({
    user,
    post,
    sql,
  }) => {
    const token = await newToken(user)
    const lock = await lockRow('users', 'id = $1', user.id)
    const resetting = post(resetPath, { token, password: newPassword() })
    await lock.waiting(1)
    await lock.sql(change, [user.id])
    await lock.release()
    const { status, body } = await resetting
    expect([status, body]).toEqual([400, invalidLink])
    expect(await storedHash(sql, user)).toBeNull()
  })
}

test.describe('password rules', () => {
  const rejectedAs = {
    too_short: ['', 'x8#Kq2!'],
    too_long: ['lantern meadow '.repeat(5).slice(0, 73)],
    invalid_characters: ['lantern\u0000 river meadow'],
    too_guessable: ['Password123!', 'dashboard2026', 'Lovelace1815!'], // a common password, the product's name, and the user's name
  }
  test('a rejected password gets the issue code of its rule, and the link stays valid', async ({
    user,
    post,
    sql,
  }) => {
    const domain = `${user.id}.example.com`
    const rename = 'UPDATE users SET email = $1, email_domain = $2 WHERE id = $3'
    await sql(rename, [`ada.lovelace@${domain}`, domain, user.id])
    const token = await newToken(user)
    for (const [code, passwords] of Object.entries(rejectedAs))
      for (const password of passwords) {
        const { status, body } = await post(resetPath, { token, password })
        expect([status, body], JSON.stringify(password)).toEqual([
          400,
          passwordIssue(code),
        ])
      }
    expect(await storedHash(sql, user)).toBeNull()
    expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
  })

  test('accepts 8 code points to 72 bytes in any script, and hashes the NFC form', async ({
    user,
    post,
    sql,
  }) => {
    for (const password of [
      'x8#Kq2!m',
      '🦉🐢lmQ8🦔🐝',
      ' lantern river meadow ',
      'fjord lantern brisk meadow copper violin harbour thistle quartz ember oak'.slice(
        0,
        72,
      ),
      'cafe\u0301 lanterna verde',
      'Фонарь река луг',
    ]) {
      const { status, body } = await post(resetPath, {
        token: await newToken(user),
        password,
      })
      expect([status, body], password).toEqual([200, { ok: true }])
      const hash = (await storedHash(sql, user))!
      expect(await bcrypt.compare(password.normalize('NFC'), hash)).toBe(true)
      expect(await bcrypt.compare(password.normalize('NFC').trim(), hash)).toBe(
        password === password.trim(),
      )
    }
  })

  test('PASSWORD_MIN_LENGTH raises the minimum length', async ({
    serverWith,
    user,
    post,
  }) => {
    const server = await serverWith(otherValues)
    const token = await newToken(user)
    const page = await fetch(`${server.url}/reset-password?token=${token}`)
    expect(await page.text()).toContain('Use 15 to 72 characters.')
    expect(
      (await post(`${server.url}${resetPath}`, { token, password: 'x8#Kq2!mZw4%Rt' }))
        .body,
    ).toEqual(passwordIssue('too_short'))
    expect(
      (await post(`${server.url}${resetPath}`, { token, password: newPassword() }))
        .status,
    ).toBe(200)
  })
})
