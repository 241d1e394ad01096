import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { lifetimes, maxSecondFactorFailures } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { consumeAttempt } from '../../lib/password/attempts'
import { readKnownBrowser } from '../../lib/password/known-browser'
import { resetPassword } from '../../lib/password/reset'
import { makeChallenge } from '../../lib/second-factor/challenge'
import { findFactor } from '../../lib/second-factor/find'
import { findOrLinkUser } from '../../lib/sso/identity'
import { linkUser, unlinkUser } from '../../lib/sso/manage/connections'
import {
  disableUser,
  enableUser,
  findUserByEmail,
  renameUser,
  signOutUser,
} from '../../lib/user/user'
import { addTestConnection } from '../support/databases/connection'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  type FactorUser,
  newFactorUser,
  totp,
  wrongCode,
} from '../support/databases/second-factor'
import {
  cookiesOf,
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { shiftClock } from '../support/servers/server'
import { allFeatures, passwordSignIn, shiftedClock } from '../support/servers/settings'

test.describe.configure({ mode: 'serial' }) // the tests share one server

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(allFeatures)
})

/** Returns a text as an input method for Japanese writes it. */
const toFullWidth = (text: string) =>
  text.replace(/[!-~]/g, (character) =>
    String.fromCharCode(character.charCodeAt(0) + 0xfee0),
  )

type Headers = Record<string, string>
async function post(path: string, body: object, headers?: Headers, to = server) {
  const response = await to.post(path, body, headers)
  const {
    status,
    body: { code, issues },
  } = response
  return { ...response, outcome: `${status} ${issues?.[0]?.code ?? code ?? 'ok'}` }
}
const signIn = ({ email, password }: PasswordUser, headers?: Headers, to?: TestServer) =>
  post(routes.signIn.path, { email, password }, headers, to)
const second = (challenge: string, given: object, headers?: Headers, to?: TestServer) =>
  post(routes.signInSecondFactor.path, { challenge, ...given }, headers, to)
async function challengeOf(user: PasswordUser, headers?: Headers): Promise<string> {
  const { outcome, body } = await signIn(user, headers)
  expect(outcome).toBe('403 SECOND_FACTOR_REQUIRED')
  return body.challenge!
}
const signInWithCode = async (user: FactorUser) =>
  second(await challengeOf(user), { code: totp(user.secret) })
const bearer = async (user: PasswordUser, to?: TestServer) => ({
  Authorization: `Bearer ${(await signIn(user, {}, to)).body.token}`,
})
async function get(
  headers: Headers,
  path: string = routes.getSecondFactor.path,
  to = server,
) {
  const response = await to.get(path, headers)
  return (await response.json()) as Record<string, unknown>
}

test('an authenticator app can be set up, used, replaced by a recovery code, and switched off', async ({
  smtp,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const live = async () =>
    (
      await sql(
        'SELECT amr FROM sessions WHERE user_id = $1 AND revoked_at IS NULL ORDER BY created_at',
        [user.id],
      )
    ).map(({ amr }) => amr.join())
  const [own, other] = [await bearer(user), await bearer(user)]
  const off = { ok: true, available: true }
  const start = (password: string) =>
    post(routes.startSecondFactor.path, { password }, own)
  expect((await start('wrong')).outcome).toBe('400 SIGN_IN_INVALID')
  const { secret, uri, enrolment } = (await start(user.password)).body as Record<
    string,
    string
  > & { secret: string }
  expect(uri).toContain(`secret=${secret}&`)
  const confirm = (code: string, as = own) =>
    post(routes.confirmSecondFactor.path, { enrolment, code }, as)
  const code = totp(secret)
  expect((await confirm(wrongCode(secret))).outcome).toBe('400 wrong_code')
  expect((await confirm(code, other)).outcome).toBe('400 CHALLENGE_INVALID')
  expect(await get(own), 'nothing is stored').toEqual(off)
  const codes = (await confirm(code)).body.recoveryCodes!
  expect([codes.length, await get(own), await live()]).toMatchObject([
    10,
    { ...off, recoveryCodesLeft: 10 },
    ['pwd'],
  ])
  expect((await get(other)).code).toBe('SESSION_INVALID')
  for (const again of [await confirm(wrongCode(secret)), await start(user.password)])
    expect(again.outcome).toBe('409 SECOND_FACTOR_CONFLICT')

  const required = await signIn(user)
  const challenge = required.body.challenge!
  expect([required.outcome, required.body.methods, cookiesOf(required)]).toEqual([
    '403 SECOND_FACTOR_REQUIRED',
    ['totp', 'recovery-code'],
    { challenge },
  ])
  for (const [given, expected] of [
    [{ code }, '400 used_code'], // the confirmation has used this code
    [{ code: wrongCode(secret) }, '400 wrong_code'],
    [{}, '400 invalid_type'],
  ] as const)
    expect((await second(challenge, given)).outcome).toBe(expected)
  const signedIn = await second(challenge, {
    code: ` ${toFullWidth(totp(secret, 1)).replace(/^.../, '$&\u2212')}\u200B`,
  })
  const { challenge: deleted, ...set } = cookiesOf(signedIn)
  expect([signedIn.outcome, deleted, Object.keys(set).sort()]).toEqual([
    '200 ok',
    '',
    ['known', 'refresh', 'session'],
  ])
  const line = { factor: 'totp', userId: user.id, level: 'info' }
  expect(await server.logged(signedIn.headers.get('x-request-id')!)).toMatchObject([line])
  expect(
    (await second(challenge, { recoveryCode: codes[0] })).outcome,
    'one session',
  ).toBe('400 CHALLENGE_INVALID')

  const typed = codes[0]!
    .toLowerCase()
    .replace('-', '\u2013') // a dash of a word processor
    .replaceAll('-', ' ')
    .replaceAll('0', 'o')
    .replaceAll('1', 'l')
  const known = { Cookie: `known=${set.known}` } // a recognized browser must send a code too
  expect(
    (await second(await challengeOf(user, known), { recoveryCode: typed }, known))
      .outcome,
  ).toBe('200 ok')
  const mails = () =>
    smtp.mailsTo(user.email).map(({ subject, text }) => `${subject} ${text}`)
  const mailsWith = (words: string) =>
    mails().filter((mail) => mail.includes(words)).length
  // The email must arrive before the recovery codes are replaced.
  await expect
    .poll(() => mailsWith('Recovery codes left: 9.'), { timeout: 8_000 })
    .toBe(1)
  expect(
    (await second(await challengeOf(user), { recoveryCode: codes[0] })).outcome,
  ).toBe('400 used_code')
  expect(await live()).toEqual(['pwd', 'pwd,otp,mfa', 'pwd,mfa'])

  const change = (path: string, given: object) =>
    post(path, { password: user.password, ...given }, own)
  await sql('UPDATE second_factors SET last_step = 0 WHERE user_id = $1', [user.id]) // as if a minute had passed
  for (const password of ['wrong', user.password]) {
    const { outcome, body } = await change(routes.replaceRecoveryCodes.path, {
      code: totp(secret),
      password,
    })
    expect(outcome).toBe(password === 'wrong' ? '400 SIGN_IN_INVALID' : '200 ok')
    codes.unshift(...(body.recoveryCodes ?? []))
  }
  expect(
    (await second(await challengeOf(user), { recoveryCode: codes.at(-1) })).outcome,
  ).toBe('400 wrong_code')
  const earlier = await challengeOf(user)
  for (const [given, expected] of [
    [{ code: wrongCode(secret) }, '400 wrong_code'],
    [{ recoveryCode: codes.at(-1) }, '400 wrong_code'],
    [{ recoveryCode: codes[0] }, '200 ok'],
    [{ recoveryCode: codes[1] }, '409 SECOND_FACTOR_CONFLICT'],
  ] as const)
    expect((await change(routes.removeSecondFactor.path, given)).outcome).toBe(expected)
  expect((await second(earlier, { recoveryCode: codes[1] })).outcome).toBe(
    '400 CHALLENGE_INVALID',
  )
  expect([await get(own), await live(), (await signIn(user)).outcome]).toEqual([
    off,
    ['pwd'],
    '200 ok',
  ])

  for (const words of ['now asks for a code', 'New recovery codes', 'no longer asks'])
    await expect.poll(() => mailsWith(words), words).toBe(1)
})

test('only the user and an operator can remove the second factor, and a reset ends challenges', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const [challenge, email] = [await challengeOf(user), `${randomUUID()}@example.com`]
  const connection = await addTestConnection(`${randomUUID()}.example.com`, {
    allowPasswords: true,
  })
  for (const change of [
    () => disableUser(user.id).then(() => enableUser(user.id)),
    () =>
      linkUser(user.id, connection, {
        issuer: 'https://idp.example.com',
        subject: user.id,
      }),
    () => unlinkUser(user.id, connection.id),
    () => signOutUser(user.id),
    async () =>
      sql('UPDATE users SET password_hash = $2 WHERE id = $1', [
        user.id,
        await bcrypt.hash(user.password, 5),
      ]),
    async () =>
      renameUser((await findUserByEmail(user.email))!, email, 'en').then(
        () => (user.email = email),
      ),
  ]) {
    await change()
    await challengeOf(user)
  }
  const [stored] = await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])
  expect(stored!.password_hash, 'the cost is changed before the code').toMatch(
    /^\$2b\$04/,
  )
  expect((await second(challenge, { code: totp(user.secret) })).outcome).toBe('200 ok')
  const password = newPassword()
  const before = await challengeOf(user)
  await resetPassword(await newToken(user), password)
  expect((await second(before, { code: totp(user.secret, 1) })).outcome).toBe(
    '400 CHALLENGE_INVALID',
  )
  expect(
    (
      await second(await challengeOf({ ...user, password }), {
        code: totp(user.secret, 1),
      })
    ).outcome,
  ).toBe('200 ok')
})

test('the right password returns only a challenge, which only one operation accepts', async ({
  sql,
}) => {
  const [user, another] = [await newFactorUser(sql), await newFactorUser(sql)]
  const challenge = await challengeOf(user)
  for (const as of [
    { Authorization: `Bearer ${challenge}` },
    { Cookie: `session=${challenge}` },
  ] as Headers[])
    for (const path of [routes.getSession.path, routes.getSecondFactor.path])
      expect((await get(as, path)).code).toBe('SESSION_INVALID')
  for (const name of ['refresh', 'session', 'challenge'])
    expect(
      (await post(routes.refreshSession.path, {}, { Cookie: `${name}=${challenge}` }))
        .outcome,
    ).toBe('400 REFRESH_INVALID')
  expect(
    (await post(routes.refreshSession.path, { refreshToken: challenge })).outcome,
  ).toBe('400 REFRESH_INVALID')
  expect((await post(exchangePath, { code: challenge })).status).toBe(400)
  const started = await post(
    routes.startSecondFactor.path,
    { password: user.password },
    { Cookie: `challenge=${challenge}` },
  )
  expect(started.outcome).toBe('401 SESSION_INVALID')
  const forge = (change: (bytes: Buffer) => unknown) => {
    const bytes = Buffer.from(challenge, 'base64url')
    change(bytes)
    return bytes.toString('base64url')
  }
  const ofAnother = forge((bytes) => bytes.write(another.id.replaceAll('-', ''), 'hex'))
  const changed = [16, 33].map((at) =>
    forge((bytes) => bytes.writeUInt8(bytes[at]! ^ 1, at)),
  ) // each with one changed field
  const factor = (await findFactor(user.id))!
  const expired = keepSecret(
    makeChallenge({ ...factor, now: factor.now - lifetimes.secondFactorStep - 1 })
      .challenge,
  )
  for (const forged of [ofAnother, ...changed, challenge.slice(1), '', expired])
    for (const { secret } of [user, another])
      expect((await second(forged, { code: totp(secret) })).outcome).toBe(
        '400 CHALLENGE_INVALID',
      )
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id IN ($1, $2)', [user.id, another.id]),
  ).toEqual([])
  expect((await second(challenge, { code: totp(user.secret) })).status).toBe(200)
})

test('a right password and a right code leave every counter as it was, whichever cookies they were sent with', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const address = newAddress()
  const signedIn = await second(await challengeOf(user), {
    recoveryCode: user.recoveryCodes.pop(),
  })
  const cookie = cookiesOf(signedIn).known!
  const from = { 'X-Forwarded-For': address }
  const known = { ...from, Cookie: `known=${cookie}` }

  const account = user.email
  const network = address.replace(/\d+$/, '0/24')
  const browser = readKnownBrowser(cookie, account)!.id
  const keys: string[] = []
  for (const attempt of [
    { account, network, browser: null },
    { account, network, browser },
    { secondFactorOf: user.id },
  ])
    for (const _ of ['first', 'second'])
      keys.push(...(await consumeAttempt(attempt)).keys)
  const counts = () =>
    sql(
      `SELECT encode(key_hash, 'hex') AS key, count FROM password_attempts
       WHERE encode(key_hash, 'hex') = ANY ($1) ORDER BY 1`,
      [keys],
    )
  const before = await counts()
  expect(before).toHaveLength(6)

  for (const first of [from, known])
    for (const next of [from, known]) {
      const challenge = await challengeOf(user, first)
      expect(await counts(), 'after the password').toEqual(before)
      const recoveryCode = user.recoveryCodes.pop()
      expect((await second(challenge, { recoveryCode }, next)).status).toBe(200)
      expect(await counts(), 'after the code').toEqual(before)
    }

  const own = { Authorization: `Bearer ${signedIn.body.token}`, ...from }
  const removal = { password: user.password, code: wrongCode(user.secret) }
  expect((await post(routes.removeSecondFactor.path, removal, own)).outcome).toBe(
    '400 wrong_code',
  )
  const changed = (await counts()).filter(
    ({ count }, index) => count !== before[index]!.count,
  )
  expect(
    changed.map(({ count }) => count),
    'only the counter of codes',
  ).toEqual([3])
})

test('ten wrong codes in a row cause one email a day, however many follow', async ({
  smtp,
  sql,
}) => {
  const user = await newFactorUser(sql)
  const { token } = (await signInWithCode(user)).body
  const own = { Authorization: `Bearer ${token}` }
  const wrong = { code: wrongCode(user.secret) }
  const { keys } = await consumeAttempt({ secondFactorOf: user.id })
  const endWindow = () =>
    sql(`DELETE FROM password_attempts WHERE encode(key_hash, 'hex') = ANY ($1)`, [keys])
  await endWindow()
  const guess = async (count: number) => {
    const challenge = await challengeOf(user)
    const guesses = Array.from({ length: count }, () => second(challenge, wrong))
    for (const { outcome } of await Promise.all(guesses))
      expect(outcome).toBe('400 wrong_code')
    await endWindow()
  }
  const notices = () =>
    sql(`SELECT 1 FROM mails WHERE user_id = $1 AND kind = 'second-factor-guesses'`, [
      user.id,
    ])
  const succeed = async () => {
    await sql('UPDATE second_factors SET last_step = 0 WHERE user_id = $1', [user.id])
    expect((await signInWithCode(user)).status).toBe(200)
  }

  await guess(9)
  await succeed() // with the tenth code
  expect(await notices()).toEqual([])
  await guess(9)
  expect(await notices()).toEqual([])
  const removal = { password: user.password, ...wrong }
  const german = { ...own, 'Accept-Language': 'de' }
  expect((await post(routes.removeSecondFactor.path, removal, german)).outcome).toBe(
    '400 wrong_code',
  )
  await endWindow()
  expect(await notices()).toHaveLength(1)
  await expect
    .poll(() => smtp.mailsTo(user.email).map(({ text }) => text), { timeout: 8_000 })
    .toContainEqual(expect.stringMatching(/10 falsche Codes.*forgot-password/s))
  await guess(10)
  await guess(1)
  expect(await notices(), '20 in a row').toHaveLength(1)

  await succeed()
  await guess(10)
  expect(await notices(), 'on the same day').toHaveLength(1)
  await sql(
    `UPDATE mails SET requested_at = requested_at - interval '1 day' WHERE user_id = $1`,
    [user.id],
  )
  await succeed()
  await guess(10)
  expect(await notices(), 'on the next day').toHaveLength(2)
  await expect
    .poll(() => smtp.mailsTo(user.email).map(({ text }) => text), { timeout: 8_000 })
    .toContainEqual(expect.stringContaining('10 wrong codes'))
})

test('an email about wrong codes that can’t be queued does not change the response', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const challenge = await challengeOf(user)
  await sql('UPDATE second_factors SET failures = 9 WHERE user_id = $1', [user.id])
  await sql(
    `ALTER TABLE mails ADD CONSTRAINT no_guesses CHECK (kind <> 'second-factor-guesses') NOT VALID`,
  )
  try {
    expect((await second(challenge, { code: wrongCode(user.secret) })).outcome).toBe(
      '400 wrong_code',
    )
  } finally {
    await sql('ALTER TABLE mails DROP CONSTRAINT no_guesses')
  }
  expect(await server.output()).toContain(
    'an email about wrong codes could not be queued',
  )
})

test('compares only 10 of 200 concurrent wrong codes, and locks the factor after 100 in a row', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const failures = async () =>
    (await sql('SELECT failures FROM second_factors WHERE user_id = $1', [user.id]))[0]!
      .failures
  const challenge = await challengeOf(user)
  const [code, wrong] = [totp(user.secret), wrongCode(user.secret)]
  // From one address, because the server then runs 16 at a time. More would wait for a
  // connection to the database, and be rejected after 3 seconds.
  const headers = { 'X-Forwarded-For': newAddress() }
  const guesses = await Promise.all(
    Array.from({ length: 200 }, () => second(challenge, { code: wrong }, headers)),
  )
  const count = (expected: string) =>
    guesses.filter(({ outcome }) => outcome === expected).length
  expect([count('400 wrong_code'), count('429 RATE_LIMITED'), await failures()]).toEqual([
    10, 190, 10,
  ])
  for (const given of [{ code }, { recoveryCode: user.recoveryCodes[0] }])
    expect((await second(challenge, given)).status, 'even a right one').toBe(429)

  await sql(`UPDATE password_attempts SET expires_at = now() - interval '1 second'`)
  await sql('UPDATE second_factors SET failures = $2 WHERE user_id = $1', [
    user.id,
    maxSecondFactorFailures - 1,
  ])
  expect((await second(challenge, { code: wrong })).outcome).toBe('400 wrong_code')
  expect((await second(challenge, { code })).outcome).toBe('403 SECOND_FACTOR_LOCKED')
  expect(await server.output()).toContain('"msg":"a second factor is locked')
  const { body } = await second(challenge, { recoveryCode: user.recoveryCodes[0] })
  expect(await failures()).toBe(0)
  expect((await second(await challengeOf(user), { code })).status).toBe(200)

  const removal = { password: user.password, code: wrong }
  const remove = () =>
    post(routes.removeSecondFactor.path, removal, { Cookie: `session=${body.token}` })
  const removals = await Promise.all(Array.from({ length: 15 }, remove))
  expect(
    removals.filter(({ status }) => status === 429).length,
    'the same counter',
  ).toBeGreaterThanOrEqual(5)
})

test('a user with a second factor is not linked to an identity by email while a password is allowed', async ({
  sql,
}) => {
  const identity = { issuer: 'https://idp.example.com', subject: 'ada' }
  for (const [allowPasswords, policy] of [
    [true, null],
    [false, 'allowed'],
  ] as const) {
    const domain = `${randomUUID()}.example.com`
    const connection = await addTestConnection(domain, {
      allowPasswords,
      provision: true,
    })
    const user = await newFactorUser(sql, { email: `ada@${domain}` })
    await sql('UPDATE users SET password_policy = $2 WHERE id = $1', [user.id, policy])
    const arrive = () =>
      findOrLinkUser(connection, identity, async () => ({
        email: user.email,
        isVerified: true,
      }))
    await expect(arrive()).rejects.toMatchObject({
      check: 'identity_second_factor',
      error: 'no_access',
    })
    expect(await sql('SELECT 1 FROM identities WHERE user_id = $1', [user.id])).toEqual(
      [],
    )
    await linkUser(user.id, connection, identity) // as the operator's command does
    expect(await arrive()).toBe(user.id)
    expect(
      (await post(exchangePath, { code: await newCode(user) })).status,
      'the provider decides',
    ).toBe(200)
  }
})

test('a user with a second factor is linked to an identity by email if the password is forbidden', async ({
  sql,
}) => {
  for (const [allowPasswords, policy] of [
    [false, null],
    [true, 'never'],
  ] as const) {
    const domain = `${randomUUID()}.example.com`
    const connection = await addTestConnection(domain, { allowPasswords })
    const user = await newFactorUser(sql, { email: `ada@${domain}` })
    await sql('UPDATE users SET password_policy = $2 WHERE id = $1', [user.id, policy])
    const identity = { issuer: 'https://idp.example.com', subject: 'ada' }
    const contact = async () => ({ email: user.email, isVerified: true })
    expect(await findOrLinkUser(connection, identity, contact)).toBe(user.id)
    expect((await signIn(user)).outcome).toBe('400 SIGN_IN_INVALID')
    await sql(`UPDATE users SET password_policy = 'allowed' WHERE id = $1`, [user.id])
    await challengeOf(user) // the second factor is kept
  }
})

test('with SECOND_FACTOR off and a wrong key, a factor stays required and can be switched off', async ({
  serverWith,
  sql,
}) => {
  const user = await newFactorUser(sql)
  const strict = await serverWith({
    ...passwordSignIn,
    ENCRYPTION_KEY: 'x'.repeat(43),
  })
  const challenge = (await signIn(user, {}, strict)).body.challenge!
  const failed = await second(challenge, { code: totp(user.secret) }, {}, strict)
  expect(failed.outcome).toBe('500 INTERNAL_ERROR')
  expect(await strict.logged('"level":"error"')).toMatchObject([
    { requestId: failed.body.requestId },
  ])
  const [first, next] = user.recoveryCodes
  const { body } = await second(challenge, { recoveryCode: first }, {}, strict)
  const own = { Authorization: `Bearer ${body.token}` }
  expect(await get(own, routes.getSecondFactor.path, strict)).toMatchObject({
    available: false,
    recoveryCodesLeft: 9,
  })
  for (const path of [routes.startSecondFactor.path, routes.confirmSecondFactor.path])
    expect((await post(path, {}, own, strict)).status).toBe(404)
  const removal = { password: user.password, recoveryCode: next }
  expect((await post(routes.removeSecondFactor.path, removal, own, strict)).status).toBe(
    200,
  )
  expect((await signIn(user, {}, strict)).status).toBe(200)
})

test('a process whose clock is wrong by a day accepts and rejects the same codes as others', async ({
  serverWith,
  sql,
}) => {
  const shifted = await serverWith(shiftedClock)
  for (const shift of [-86_400, 86_400]) {
    await shiftClock(shifted, shift)
    const user = await newFactorUser(sql)
    const { challenge, expiresAt } = (await signIn(user, {}, shifted)).body
    expect(Math.abs(Date.parse(expiresAt as string) - Date.now() - 600_000)).toBeLessThan(
      60_000,
    )
    const send = async (code: string) =>
      (await second(challenge!, { code }, {}, shifted)).outcome
    expect(await send(wrongCode(user.secret))).toBe('400 wrong_code')
    expect(await send(totp(user.secret))).toBe('200 ok')
    // If the clock is ahead, every session JWT has expired.
    const [another, status] = [
      await newPasswordUser(sql, { cost: 4 }),
      shift > 0 ? 401 : 200,
    ]
    await shiftClock(shifted, 0)
    const own = await bearer(another, shifted)
    const started = await post(
      routes.startSecondFactor.path,
      { password: another.password },
      own,
      shifted,
    )
    const { enrolment, secret } = started.body as { enrolment: string; secret: string }
    await shiftClock(shifted, shift)
    const confirmed = await post(
      routes.confirmSecondFactor.path,
      { enrolment, code: totp(secret) },
      own,
      shifted,
    )
    expect(confirmed.status).toBe(status)
  }
})
