import { randomUUID } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { removeAllPasskeys } from '../../lib/passkey/manage'
import { makeChallenge } from '../../lib/second-factor/challenge'
import { removeOwnSecondFactor } from '../../lib/second-factor/change'
import { newTotpSecret } from '../../lib/second-factor/codes'
import { encrypt } from '../../lib/second-factor/encryption'
import { findFactor } from '../../lib/second-factor/find'
import { makeRefreshToken } from '../../lib/session/tokens'
import { assert, newPasskey, type Passkey, register } from '../support/authenticator'
import { renewTokens } from '../support/browsers/dashboard'
import { liveSessionsOf, mailsOf } from '../support/databases/account'
import { eventsOf, failureOf } from '../support/databases/events'
import {
  newFreshSession,
  newPasskeyUser,
  newSignInChallenge,
  storePasskey,
} from '../support/databases/passkey'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  type FactorUser,
  newFactorUser,
  totp,
  wrongCode,
} from '../support/databases/second-factor'
import {
  beginSetUp,
  outcomeOf,
  prepareApp,
  preparePasskey,
} from '../support/databases/set-up'
import { newBrowser } from '../support/databases/sign-in-requests'
import {
  cookiesOf,
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  resetPath,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

// The software authenticator signs for this origin.
const origin = process.env.PUBLIC_URL!
const settings = { ...allFeatures, PUBLIC_URL: origin }

let server: TestServer
/** The same settings, but a second factor is not required. */
let optional: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ ...settings, SECOND_FACTOR: 'required' })
  optional = await serverWith(settings)
})

type Headers = Record<string, string>

const post = (path: string, body: object, headers: Headers = {}, to = server) =>
  to.post(path, body, headers)

const signIn = ({ email, password }: PasswordUser, to = server) =>
  post(routes.signIn.path, { email, password }, {}, to)

const second = (challenge: string, given: object, to = server) =>
  post(routes.signInSecondFactor.path, { challenge, ...given }, {}, to)

async function enter(passkey: Passkey, to = server) {
  const credential = assert(passkey, await newSignInChallenge(), origin)
  return post(routes.signInWithPasskey.path, { credential }, {}, to)
}

const begin = (user: PasswordUser, headers?: Headers) =>
  beginSetUp(server.post, user, headers)

/** Gives a user a second factor that consists of a passkey and recovery codes. */
async function newPasskeyFactorUser(sql: Sql) {
  const user = await newFactorUser(sql)
  await sql('DELETE FROM second_factors WHERE user_id = $1', [user.id])
  const passkey = newPasskey(user.id)
  return { ...user, passkey, passkeyId: await storePasskey(sql, user, passkey) }
}

const countSessions = async (sql: Sql, { id }: { id: string }) =>
  (await sql('SELECT FROM sessions WHERE user_id = $1', [id])).length

/** Returns what is stored of the factors of a user. */
async function factorsOf(sql: Sql, { id }: { id: string }) {
  const [row] = await sql(
    `SELECT second_factor_at IS NOT NULL AS flag,
       (SELECT count(*)::int FROM second_factors WHERE user_id = users.id) AS apps,
       (SELECT count(*)::int FROM passkeys WHERE user_id = users.id) AS passkeys,
       (SELECT count(*)::int FROM recovery_codes WHERE user_id = users.id) AS codes
     FROM users WHERE id = $1`,
    [id],
  )
  return row
}
const nothing = { flag: false, apps: 0, passkeys: 0, codes: 0 }

test.describe('set-up', () => {
  test('an authenticator app is set up inside the sign-in', async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const other = await newFreshSession(sql, user)
    const asked = await signIn(user)
    const { challenge, setUp, methods, message } = asked.body
    expect([outcomeOf(asked), methods, setUp, message]).toEqual([
      '403 SECOND_FACTOR_REQUIRED',
      [],
      ['passkey', 'totp'],
      'Set up a second factor to sign in.',
    ])
    expect(cookiesOf(asked)).toEqual({ challenge })

    const { secret, code, ...confirmation } = await prepareApp(server.post, challenge!)
    expect(await factorsOf(sql, user), 'nothing is stored').toEqual(nothing)
    const confirm = (typed: string) =>
      post(routes.confirmSecondFactor.path, { ...confirmation, code: typed })
    expect(outcomeOf(await confirm(wrongCode(secret)))).toBe('400 wrong_code')

    const confirmed = await confirm(code)
    expect([outcomeOf(confirmed), confirmed.body.recoveryCodes?.length]).toEqual([
      '200 ok',
      10,
    ])
    const { session, refresh, known, ...deleted } = cookiesOf(confirmed)
    expect([session, refresh]).toEqual([
      confirmed.body.token,
      confirmed.body.refreshToken,
    ])
    expect([Boolean(known), deleted]).toEqual([true, { challenge: '', enrolment: '' }])
    expect(jwt.decode(session!)).toMatchObject({
      sub: user.id,
      amr: ['pwd', 'otp', 'mfa'],
    })
    expect(await factorsOf(sql, user)).toEqual({
      flag: true,
      apps: 1,
      passkeys: 0,
      codes: 10,
    })
    expect(await mailsOf(sql, user)).toContain('second-factor-on')
    expect((await liveSessionsOf(sql, user)).map(({ id }) => id)).not.toContain(other.id)
    const renewed = await post(routes.refreshSession.path, { refreshToken: refresh })
    expect(renewed.status, 'the session has a second factor').toBe(200)

    const again = await signIn(user)
    expect([again.body.methods, again.body.setUp]).toEqual([
      ['totp', 'recovery-code'],
      undefined,
    ])
    const recoveryCode = confirmed.body.recoveryCodes![0]
    expect((await second(again.body.challenge!, { recoveryCode })).status).toBe(200)
  })

  test('a passkey is set up inside the sign-in', async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const other = await newFreshSession(sql, user)
    const challenge = await begin(user)
    const { passkey, request } = await preparePasskey(server.post, challenge, user)
    expect(await factorsOf(sql, user), 'nothing is stored').toEqual(nothing)

    const added = await post(routes.addPasskey.path, request)
    expect([outcomeOf(added), added.body.recoveryCodes?.length]).toEqual(['200 ok', 10])
    const { session, refresh, known, ...deleted } = cookiesOf(added)
    expect([Boolean(refresh && known), deleted]).toEqual([true, { challenge: '' }])
    // a registration without attestation is no proof of possession
    expect(jwt.decode(session!)).toMatchObject({ sub: user.id, amr: ['pwd', 'mfa'] })
    expect(await factorsOf(sql, user)).toEqual({
      flag: true,
      apps: 0,
      passkeys: 1,
      codes: 10,
    })
    expect(await mailsOf(sql, user)).toContain('passkey-added')
    expect((await liveSessionsOf(sql, user)).map(({ id }) => id)).not.toContain(other.id)
    const renewed = await post(routes.refreshSession.path, { refreshToken: refresh })
    expect(renewed.status).toBe(200)

    const again = await signIn(user)
    expect(again.body.methods).toEqual(['passkey', 'recovery-code'])
    const guess = await second(again.body.challenge!, { code: '123456' })
    expect(outcomeOf(guess), 'there is no app').toBe('400 wrong_code')
    const recoveryCode = added.body.recoveryCodes![0]
    expect((await second(again.body.challenge!, { recoveryCode })).status).toBe(200)
    expect((await enter(passkey)).status).toBe(200)
  })

  test('follows a reset and an invitation', async ({ sql }) => {
    const [invited] = await newUsers(sql, 1)
    const known = await newPasswordUser(sql, { cost: 4 })
    for (const user of [invited!, known]) {
      const password = newPassword()
      const reset = await post(resetPath, { token: await newToken(user), password })
      expect([reset.status, await countSessions(sql, user)]).toEqual([200, 0])
      const challenge = await begin({ ...user, password })
      const { secret, ...confirmation } = await prepareApp(server.post, challenge)
      const confirmed = await post(routes.confirmSecondFactor.path, confirmation)
      expect(outcomeOf(confirmed)).toBe('200 ok')
    }
  })

  test('only an authenticator app can be set up without PASSKEYS', async ({
    serverWith,
    sql,
  }) => {
    const without = await serverWith({
      ...settings,
      SECOND_FACTOR: 'required',
      PASSKEYS: 'false',
    })
    const asked = await signIn(await newPasswordUser(sql, { cost: 4 }), without)
    expect(asked.body.setUp).toEqual(['totp'])
  })
})

test('a set-up writes the events of its failures, its factor and its session', async ({
  sql,
}) => {
  const steps = {
    second_factor_on: async (challenge: string) => {
      const { secret, ...confirmation } = await prepareApp(server.post, challenge)
      const path = routes.confirmSecondFactor.path
      const headers = { 'X-Request-Id': randomUUID() }
      await post(path, { ...confirmation, code: wrongCode(secret) }, headers)
      const failed = { kind: 'sign_in_failed', method: 'password', check: 'wrong_code' }
      expect(await failureOf(sql, headers['X-Request-Id'])).toMatchObject(failed)

      return post(path, confirmation)
    },
    passkey_added: async (challenge: string, user: PasswordUser) => {
      const { request } = await preparePasskey(server.post, challenge, user)
      return post(routes.addPasskey.path, request)
    },
  }

  for (const [kind, setUp] of Object.entries(steps)) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const other = await newFreshSession(sql, user)
    const { body } = await setUp(await begin(user), user)
    const { sid } = jwt.decode(body.token!) as { sid: string }
    const written = await eventsOf(sql, user.id)
    const session = { actor: 'user', session_id: sid }
    expect(
      written.filter((event) => event.kind !== 'sign_in_failed'),
      kind,
    ).toMatchObject(
      [
        { kind, ...session },
        { kind: 'session_ended', actor: 'user', session_id: other.id },
        { kind: 'signed_in', method: 'password', ...session },
      ].toSorted((one, two) => one.kind.localeCompare(two.kind)),
    )
  }
})

test('the first codes of a user with a passkey, and the removal of the factor, are events', async ({
  sql,
}) => {
  const fresh = { method: "'passkey'", amr: "'{pop,user,mfa}'" }
  const user = await newPasskeyUser(sql)
  const { id, headers } = await newFreshSession(sql, user, fresh)
  await post(routes.replaceRecoveryCodes.path, {}, headers)
  await post(routes.removeSecondFactor.path, {}, headers, optional)
  expect(await eventsOf(sql, user.id)).toMatchObject([
    { kind: 'recovery_codes_replaced', actor: 'user', session_id: id },
    { kind: 'second_factor_off', actor: 'user' },
  ])
})

test.describe('a repeated last step', () => {
  const repeatable: Record<
    string,
    (challenge: string, user: PasswordUser) => Promise<{ path: string; body: object }>
  > = {
    'with an app': async (challenge) => {
      const { secret, ...body } = await prepareApp(server.post, challenge)
      return { path: routes.confirmSecondFactor.path, body }
    },
    'with a passkey': async (challenge, user) => {
      const { request } = await preparePasskey(server.post, challenge, user)
      return { path: routes.addPasskey.path, body: request }
    },
  }

  for (const [name, prepare] of Object.entries(repeatable))
    test(`${name} returns the same session to the same browser, without codes`, async ({
      sql,
    }) => {
      const user = await newPasswordUser(sql, { cost: 4 })
      const Cookie = newBrowser()
      const challenge = await begin(user, { Cookie })
      const { path, body } = await prepare(challenge, user)
      const first = await post(path, body, { Cookie })
      const repeated = await post(path, body, { Cookie })
      expect([first.status, repeated.status]).toEqual([200, 200])
      expect([first.body.recoveryCodes?.length, repeated.body.recoveryCodes]).toEqual([
        10,
        [],
      ])
      expect(repeated.body.refreshToken).toBe(first.body.refreshToken)

      const elsewhere = await post(path, body, { Cookie: newBrowser() })
      expect(outcomeOf(elsewhere)).toBe('400 CHALLENGE_INVALID')
      await sql(
        `UPDATE sessions SET created_at = created_at - interval '61 seconds' WHERE user_id = $1`,
        [user.id],
      )
      const late = await post(path, body, { Cookie })
      expect(outcomeOf(late)).toBe('400 CHALLENGE_INVALID')
      expect(await factorsOf(sql, user)).toMatchObject({ flag: true, codes: 10 })
      expect(await countSessions(sql, user)).toBe(1)
    })

  test('with another code or another passkey is rejected', async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const Cookie = newBrowser()
    const challenge = await begin(user, { Cookie })
    const { secret, ...app } = await prepareApp(server.post, challenge)
    const { passkey, request } = await preparePasskey(server.post, challenge, user)
    const other = newPasskey(user.id)
    const { request: second } = await preparePasskey(server.post, challenge, user, other)
    const path = routes.confirmSecondFactor.path
    expect((await post(path, app, { Cookie })).status).toBe(200)
    for (const [repeatedPath, body] of [
      [path, { ...app, code: wrongCode(secret) }],
      [routes.addPasskey.path, request],
      [routes.addPasskey.path, second],
      [routes.startSecondFactor.path, { challenge }],
      [routes.startPasskey.path, { challenge }],
    ] as const)
      expect(outcomeOf(await post(repeatedPath, body, { Cookie }))).toBe(
        '400 CHALLENGE_INVALID',
      )
    expect(await factorsOf(sql, user)).toMatchObject({ apps: 1, passkeys: 0 })
    expect((await enter(passkey)).status).toBe(400)
  })

  test('with another passkey for the same registration is rejected', async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const Cookie = newBrowser()
    const challenge = await begin(user, { Cookie })
    const { body } = await post(routes.startPasskey.path, { challenge })
    const { options } = body as unknown as { options: { challenge: string } }
    const add = (passkey: Passkey) => {
      const credential = register(passkey, keepSecret(options.challenge), origin)
      return post(routes.addPasskey.path, { challenge, credential }, { Cookie })
    }
    expect((await add(newPasskey(user.id))).status).toBe(200)
    expect(outcomeOf(await add(newPasskey(user.id)))).toBe('400 CHALLENGE_INVALID')
    expect(await factorsOf(sql, user)).toMatchObject({ passkeys: 1 })
  })
})

/** The four steps of a set-up, each with a valid body except for the challenge. */
async function stepsOf(sql: Sql): Promise<[string, (challenge: string) => object][]> {
  const user = await newPasswordUser(sql, { cost: 4 })
  const own = await begin(user)
  const app = await prepareApp(server.post, own)
  const { request } = await preparePasskey(server.post, own, user)
  return [
    [routes.startSecondFactor.path, (challenge) => ({ challenge })],
    [routes.confirmSecondFactor.path, (challenge) => ({ ...app, challenge })],
    [routes.startPasskey.path, (challenge) => ({ challenge })],
    [routes.addPasskey.path, (challenge) => ({ ...request, challenge })],
  ]
}

// Way around 7
test.describe('ways around', () => {
  test('40 sign-ins with the password alone start no session', async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    for (let attempt = 0; attempt < 40; attempt++) {
      const { status, body } = await signIn(user)
      expect([status, body.token, body.refreshToken]).toEqual([403, undefined, undefined])
    }
    expect(await countSessions(sql, user)).toBe(0)
  })

  test('a session that began with the password alone can’t be renewed', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const rows: [Record<string, string>, number][] = [
      [{}, 400],
      [{ method: 'NULL', amr: 'NULL' }, 400], // before there were methods
      [{ amr: "'{pwd,otp,mfa}'" }, 200],
      [{ method: "'passkey'", amr: "'{pop,user,mfa}'" }, 200],
      [{ method: "'sso'" }, 200],
      [{ method: "'code'", amr: 'NULL' }, 200],
    ]
    for (const [columns, status] of rows) {
      const { headers } = await newFreshSession(sql, user, columns)
      const [, refreshToken] = headers.Cookie.split('=')
      const renewed = await post(routes.refreshSession.path, { refreshToken })
      expect(renewed.status, JSON.stringify(columns)).toBe(status)
      const kept = await optional.post(routes.refreshSession.path, { refreshToken })
      expect(kept.status, 'the session is not ended').toBe(200)
    }
    const logged = await server.logged('"check":"factor_missing"')
    expect(logged.length).toBeGreaterThanOrEqual(2)
  })

  test('a client can’t renew its session that began with the password alone', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const parent = await newFreshSession(sql, user)
    const child = await newFreshSession(sql, user, {
      parent_id: `'${parent.id}'`,
      client_id: `(SELECT id FROM clients WHERE slug = 'app')`,
    })
    const refreshToken = () =>
      keepSecret(makeRefreshToken({ sessionId: child.id, generation: 0 }))
    expect((await renewTokens(server.url, refreshToken())).status).toBe(400)
    expect((await renewTokens(optional.url, refreshToken())).status).toBe(200)
  })

  test('a set-up is rejected if the user has a factor or a passkey meanwhile', async ({
    sql,
  }) => {
    for (const table of ['second_factors', 'passkeys']) {
      const user = await newPasswordUser(sql, { cost: 4 })
      const challenge = await begin(user)
      const { secret, ...confirmation } = await prepareApp(server.post, challenge)
      const { request } = await preparePasskey(server.post, challenge, user)
      if (table === 'passkeys') await storePasskey(sql, user, newPasskey(user.id))
      else {
        const encrypted = await encrypt(await newTotpSecret(), `totp ${user.id}`)
        await sql('INSERT INTO second_factors VALUES ($1, $2, 0)', [user.id, encrypted])
        await sql('UPDATE users SET second_factor_at = now() WHERE id = $1', [user.id])
      }

      const before = await factorsOf(sql, user)
      for (const [path, body] of [
        [routes.startSecondFactor.path, { challenge }],
        [routes.startPasskey.path, { challenge }],
        [routes.confirmSecondFactor.path, confirmation],
        [routes.addPasskey.path, request],
      ] as const)
        expect(outcomeOf(await post(path, body)), `${table} ${path}`).toBe(
          '400 CHALLENGE_INVALID',
        )
      expect([await factorsOf(sql, user), await countSessions(sql, user)]).toEqual([
        before,
        0,
      ])
    }
  })

  test('a challenge is accepted only for what it was issued for', async ({ sql }) => {
    const [user, other] = [
      await newPasswordUser(sql, { cost: 4 }),
      await newFactorUser(sql),
    ]
    const challenge = await begin(user)
    const { body } = await signIn(other)
    const bytes = Buffer.from(challenge, 'base64url')
    const altered = [0, 16, 33, 40].map((at) => {
      const changed = Buffer.from(bytes)
      changed[at] = changed[at]! ^ 1
      return changed.toString('base64url')
    })
    const found = (await findFactor(user.id))!
    const expired = makeChallenge({
      ...found,
      now: found.now - lifetimes.secondFactorStep - 1,
    })

    for (const [path, bodyOf] of await stepsOf(sql))
      for (const wrong of [
        body.challenge!, // of a second step
        ...altered,
        keepSecret(expired.challenge),
        await newSignInChallenge(),
        '',
      ])
        expect(outcomeOf(await post(path, bodyOf(wrong))), path).toBe(
          '400 CHALLENGE_INVALID',
        )

    for (const given of [{ code: totp(other.secret) }, { recoveryCode: 'wrong' }])
      expect(outcomeOf(await second(challenge, given))).toBe('400 CHALLENGE_INVALID')
    for (const headers of [
      { Authorization: `Bearer ${challenge}` },
      { Cookie: `session=${challenge}` },
    ] as Headers[])
      expect((await server.get(routes.getSession.path, headers)).status).toBe(401)
    for (const path of [routes.startSecondFactor.path, routes.startPasskey.path]) {
      const own = { Cookie: `challenge=${challenge}` }
      const given = path === routes.startPasskey.path ? {} : { password: user.password }
      expect((await post(path, given, own)).status, 'a cookie is not enough').not.toBe(
        200,
      )
    }
    expect(await countSessions(sql, user)).toBe(0)
  })

  test('an enrolment and a registration of another set-up are rejected', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const [one, two] = [await begin(user), await begin(user)]
    const { secret, ...app } = await prepareApp(server.post, one)
    const { request } = await preparePasskey(server.post, one, user)
    for (const [path, body] of [
      [routes.confirmSecondFactor.path, { ...app, challenge: two }],
      [routes.addPasskey.path, { ...request, challenge: two }],
    ] as const)
      expect(outcomeOf(await post(path, body))).toBe('400 CHALLENGE_INVALID')
    expect(await factorsOf(sql, user)).toEqual(nothing)
  })

  test('a challenge ends with a change of the password, and without the setting', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const challenge = await begin(user)
    const start = (to: TestServer) =>
      post(routes.startSecondFactor.path, { challenge }, {}, to)
    expect(outcomeOf(await start(optional))).toBe('400 CHALLENGE_INVALID')
    expect(outcomeOf(await start(server))).toBe('200 ok')
    await sql('UPDATE users SET password_changed_at = now() WHERE id = $1', [user.id])
    expect(outcomeOf(await start(server))).toBe('400 CHALLENGE_INVALID')
  })

  test('a challenge that has set up a factor sets up no other one after its removal', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const challenge = await begin(user)
    const { secret, ...confirmation } = await prepareApp(server.post, challenge)
    const path = routes.confirmSecondFactor.path
    expect((await post(path, confirmation)).status).toBe(200)
    await removeOwnSecondFactor(user.id, 'en')
    const again = await prepareApp(server.post, challenge)
    expect(outcomeOf(await post(path, again))).toBe('400 CHALLENGE_INVALID')
    expect(await factorsOf(sql, user)).toEqual(nothing)
  })

  test('a user with a passkey from before sets nothing up with the password', async ({
    sql,
  }) => {
    const user = await newPasskeyUser(sql)
    const asked = await signIn(user)
    const { challenge, methods, setUp, message } = asked.body
    expect([outcomeOf(asked), methods, setUp, message]).toEqual([
      '403 SECOND_FACTOR_REQUIRED',
      ['passkey'],
      undefined,
      'Use your passkey.',
    ])
    for (const [path, bodyOf] of await stepsOf(sql))
      expect(outcomeOf(await post(path, bodyOf(challenge!)))).toBe(
        '400 CHALLENGE_INVALID',
      )
    for (const given of [{ code: '123456' }, { recoveryCode: 'wrong' }])
      expect(outcomeOf(await second(challenge!, given))).toBe('400 CHALLENGE_INVALID')
    expect((await enter(user.passkey)).status).toBe(200)
  })
})

/** The users of a database that existed before a setting was changed. */
const kinds: Record<
  string,
  (sql: Sql) => Promise<PasswordUser & { passkey?: Passkey; recoveryCodes?: string[] }>
> = {
  'without a factor': (sql) => newPasswordUser(sql, { cost: 4 }),
  'with a passkey from before': (sql) => newPasskeyUser(sql),
  'with an app': (sql) => newFactorUser(sql),
  'with an app and a passkey': async (sql) => {
    const user: FactorUser = await newFactorUser(sql)
    const passkey = newPasskey(user.id)
    await storePasskey(sql, user, passkey)
    return { ...user, passkey }
  },
  'with a passkey and codes': newPasskeyFactorUser,
}

for (const SECOND_FACTOR of ['false', 'true', 'required'])
  for (const PASSKEYS of ['false', 'true'])
    test(`with SECOND_FACTOR=${SECOND_FACTOR} and PASSKEYS=${PASSKEYS}, every user of a filled database gets in`, async ({
      serverWith,
      sql,
    }) => {
      const to = await serverWith({ ...settings, SECOND_FACTOR, PASSKEYS })
      for (const [kind, create] of Object.entries(kinds)) {
        const user = await create(sql)
        const [{ flag } = { flag: false }] = await sql(
          'SELECT second_factor_at IS NOT NULL AS flag FROM users WHERE id = $1',
          [user.id],
        )
        const { status, body } = await signIn(user, to)
        const isAsked = flag || SECOND_FACTOR === 'required'
        expect(status, kind).toBe(isAsked ? 403 : 200)
        if (!isAsked) continue

        const methods = body.methods as string[]
        const [recoveryCode] = user.recoveryCodes ?? []
        const entered = async () => {
          if (methods.includes('recovery-code'))
            return second(body.challenge!, { recoveryCode }, to)
          if (methods.includes('passkey')) return enter(user.passkey!, to)

          const { secret, ...given } = await prepareApp(to.post, body.challenge!)
          return post(routes.confirmSecondFactor.path, given, {}, to)
        }
        expect((await entered()).status, kind).toBe(200)
        expect(methods.includes('passkey') && PASSKEYS === 'false', kind).toBe(false)
      }
    })

test.describe('a fresh sign-in with a passkey', () => {
  const fresh = { method: "'passkey'", amr: "'{pop,user,mfa}'" }
  const replace = (headers: Headers, to = server) =>
    post(routes.replaceRecoveryCodes.path, {}, headers, to)
  const remove = (headers: Headers, to = server) =>
    post(routes.removeSecondFactor.path, {}, headers, to)

  test('replaces codes and removes the app, in place of a password and a code', async ({
    sql,
  }) => {
    const user = await newFactorUser(sql)
    await storePasskey(sql, user, newPasskey(user.id))
    const { headers } = await newFreshSession(sql, user, fresh)
    const replaced = await replace(headers)
    expect([outcomeOf(replaced), replaced.body.recoveryCodes?.length]).toEqual([
      '200 ok',
      10,
    ])
    const { challenge } = (await signIn(user)).body
    const [old, [recoveryCode]] = [user.recoveryCodes[0], replaced.body.recoveryCodes!]
    expect(outcomeOf(await second(challenge!, { recoveryCode: old }))).toBe(
      '400 wrong_code',
    )
    expect((await second(challenge!, { recoveryCode })).status).toBe(200)

    expect(outcomeOf(await remove(headers))).toBe('200 ok')
    expect(await factorsOf(sql, user), 'the passkey is left').toEqual({
      flag: true,
      apps: 0,
      passkeys: 1,
      codes: 10,
    })
    expect(outcomeOf(await remove(headers))).toBe('409 SECOND_FACTOR_CONFLICT')
    expect((await signIn(user)).body.methods).toEqual(['passkey', 'recovery-code'])
  })

  test('removes everything if no second factor is required', async ({ sql }) => {
    const user = await newPasskeyFactorUser(sql)
    const { headers } = await newFreshSession(sql, user, fresh)
    expect(outcomeOf(await remove(headers, optional))).toBe('200 ok')
    expect(await factorsOf(sql, user)).toEqual({ ...nothing, passkeys: 1 })
    expect((await signIn(user, optional)).status).toBe(200)
  })

  test('gives the first codes to a user whose passkey is older than the setting', async ({
    sql,
  }) => {
    const user = await newPasskeyUser(sql)
    const other = await newFreshSession(sql, user)
    const { id, headers } = await newFreshSession(sql, user, fresh)
    expect(outcomeOf(await replace(headers, optional))).toBe('409 SECOND_FACTOR_CONFLICT')
    expect((await replace(headers)).body.recoveryCodes).toHaveLength(10)
    expect(await factorsOf(sql, user)).toEqual({
      flag: true,
      apps: 0,
      passkeys: 1,
      codes: 10,
    })
    expect((await liveSessionsOf(sql, user)).map((session) => session.id)).toEqual([id])
    expect(other.id).not.toBe(id)
    expect((await signIn(user, optional)).body.methods).toEqual([
      'passkey',
      'recovery-code',
    ])
  })

  test('is proved by nothing else', async ({ sql }) => {
    const user = await newPasskeyFactorUser(sql)
    const before = await factorsOf(sql, user)
    const { body } = await enter(user.passkey)
    const minutes = `now() - interval '11 minutes'`
    const sessions = [
      { ...fresh, authenticated_at: minutes },
      { amr: "'{pwd,otp,mfa}'" },
      { method: "'sso'", amr: "'{pop,user,mfa}'" },
      { ...fresh, revoked_at: 'now()' },
    ]
    const headers: Headers[] = [
      {},
      { Authorization: `Bearer ${body.token}` },
      { Cookie: `session=${body.token}` },
    ]
    for (const columns of sessions)
      headers.push((await newFreshSession(sql, user, columns)).headers)
    for (const given of headers)
      for (const change of [replace, remove])
        expect(outcomeOf(await change(given)), JSON.stringify(given)).toBe(
          '403 SIGN_IN_AGAIN',
        )
    const own = { Authorization: `Bearer ${body.token}` }
    for (const given of [{ password: user.password }, { code: '123456' }])
      for (const path of [
        routes.replaceRecoveryCodes.path,
        routes.removeSecondFactor.path,
      ])
        expect((await post(path, given, own)).body.code).toBe('VALIDATION_ERROR')
    expect(await factorsOf(sql, user)).toEqual(before)
  })

  test('adds the first required factor with codes, and repeats without them', async ({
    sql,
  }) => {
    const user = await newPasskeyUser(sql)
    await newFreshSession(sql, user)
    const { id, headers } = await newFreshSession(sql, user, fresh)
    const { body } = await post(routes.startPasskey.path, {}, headers)
    const { challenge } = (body as { options: { challenge: string } }).options
    const credential = register(newPasskey(user.id), keepSecret(challenge), origin)
    const add = () => post(routes.addPasskey.path, { credential }, headers)
    const [first, repeated] = [await add(), await add()]
    expect([first.body.recoveryCodes?.length, repeated.body.recoveryCodes]).toEqual([
      10,
      [],
    ])
    expect([first.body.token, first.headers.getSetCookie()]).toEqual([
      undefined,
      [expect.stringMatching(/^challenge=;/)],
    ])
    expect(await factorsOf(sql, user)).toEqual({
      flag: true,
      apps: 0,
      passkeys: 2,
      codes: 10,
    })
    expect((await liveSessionsOf(sql, user)).map((session) => session.id)).toEqual([id])
    expect((await enter(user.passkey)).status).toBe(200)
  })
})

test('an app can be set up in a session although the user has the flag, and replaces the codes', async ({
  sql,
}) => {
  const user = await newPasskeyFactorUser(sql)
  const { token } = (await enter(user.passkey)).body
  const own = { Authorization: `Bearer ${token}` }
  const { password } = user
  const started = await post(routes.startSecondFactor.path, { password }, own)
  const { secret, enrolment } = started.body as { secret: string; enrolment: string }
  const code = totp(secret)
  const path = routes.confirmSecondFactor.path
  const confirmed = await post(path, { enrolment, code }, own)
  expect([outcomeOf(confirmed), confirmed.body.token]).toEqual(['200 ok', undefined])
  expect(await factorsOf(sql, user)).toEqual({
    flag: true,
    apps: 1,
    passkeys: 1,
    codes: 10,
  })
  const asked = await signIn(user)
  expect(asked.body.methods).toEqual(['totp', 'passkey', 'recovery-code'])
  const old = { recoveryCode: user.recoveryCodes[0] }
  expect(outcomeOf(await second(asked.body.challenge!, old))).toBe('400 wrong_code')
  const again = await post(routes.startSecondFactor.path, { password }, own)
  expect(outcomeOf(again)).toBe('409 SECOND_FACTOR_CONFLICT')
})

test('the removal of the last passkey allows another set-up, unless there is an app', async ({
  sql,
}) => {
  const removeAt = async (user: PasswordUser & { passkeyId: string }) => {
    const columns = { method: "'passkey'", amr: "'{pop,user,mfa}'" }
    const { headers } = await newFreshSession(sql, user, columns)
    const { passkeyId } = user
    const removed = await post(routes.removePasskey.path, { passkeyId }, headers)
    expect(removed.status).toBe(200)
  }

  const only = await newPasskeyFactorUser(sql)
  await removeAt(only)
  expect(await factorsOf(sql, only)).toEqual(nothing)
  await begin(only)

  const oneOfTwo = await newPasskeyFactorUser(sql)
  await storePasskey(sql, oneOfTwo, newPasskey(oneOfTwo.id))
  await removeAt(oneOfTwo)
  expect(await factorsOf(sql, oneOfTwo)).toMatchObject({ flag: true, codes: 10 })

  const app = await newFactorUser(sql)
  const passkeyId = await storePasskey(sql, app, newPasskey(app.id))
  await removeAt({ ...app, passkeyId })
  expect(await factorsOf(sql, app)).toEqual({
    flag: true,
    apps: 1,
    passkeys: 0,
    codes: 10,
  })

  const ofOperator = await newPasskeyFactorUser(sql)
  await storePasskey(sql, ofOperator, newPasskey(ofOperator.id))
  await removeAllPasskeys(ofOperator.id, 'en')
  expect(await factorsOf(sql, ofOperator)).toEqual(nothing)
})

test('an operator removes the flag and the codes with the second factor', async ({
  sql,
}) => {
  const user = await newPasskeyFactorUser(sql)
  await removeOwnSecondFactor(user.id, 'en')
  expect(await factorsOf(sql, user)).toEqual({ ...nothing, passkeys: 1 })
  expect((await signIn(user)).body.methods).toEqual(['passkey'])
})

// Way around 8
test('a reset removes the passkeys of a user without the flag, and keeps those of a user with it', async ({
  sql,
}) => {
  for (const user of [await newPasskeyUser(sql), await newPasskeyFactorUser(sql)]) {
    const hasFlag = 'recoveryCodes' in user
    const password = newPassword()
    const token = await newToken(user)
    const body = { token, password, removePasskeys: true }
    expect((await post(resetPath, body)).status).toBe(200)
    expect(await factorsOf(sql, user)).toMatchObject({
      flag: hasFlag,
      passkeys: hasFlag ? 1 : 0,
    })
    const asked = await signIn({ ...user, password })
    expect(asked.body.methods).toEqual(hasFlag ? ['passkey', 'recovery-code'] : [])
  }
})

test('sign-ins through an own callback are not affected', async ({ user }) => {
  const { status, body } = await post(exchangePath, { code: await newCode(user) })
  expect(status).toBe(200)
  const { refreshToken } = body
  expect((await post(routes.refreshSession.path, { refreshToken })).status).toBe(200)
})
