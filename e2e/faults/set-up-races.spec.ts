import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { removeAllPasskeys } from '../../lib/passkey/manage'
import { resetPassword } from '../../lib/password/reset'
import { activateDomains } from '../../lib/sso/manage/activate'
import { endPasswordSessions } from '../../lib/sso/manage/batches'
import { disableUser, enableUser, signOutUser } from '../../lib/user/user'
import { newPasskey, register } from '../support/authenticator'
import { liveSessionsOf } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import { newFreshSession, storePasskey } from '../support/databases/passkey'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { race, rounds } from '../support/databases/race'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import { newFactorUser, totp } from '../support/databases/second-factor'
import {
  beginSetUp,
  outcomeOf,
  prepareApp,
  preparePasskey,
} from '../support/databases/set-up'
import { newBrowser } from '../support/databases/sign-in-requests'
import { expect, newPassword, newToken, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { shiftClock } from '../support/servers/server'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

test.describe.configure({ timeout: 600_000 })

const origin = process.env.PUBLIC_URL!
const settings = {
  PASSWORD_SIGN_IN: 'true',
  SECOND_FACTOR: 'required',
  PASSKEYS: 'true',
}
let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers(process.env.DATABASE_URL!, settings)
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01)
})
test.afterAll(() => servers.stop())

/** Sends the last step of a set-up. Returns whether it succeeded. */
async function complete(path: string, body: object, headers = {}): Promise<boolean> {
  const response = await servers.post(path, body, headers)
  const outcome = outcomeOf(response)
  if (!['200 ok', '400 CHALLENGE_INVALID'].includes(outcome))
    throw new Error(`unexpected: ${outcome}`)
  return response.status === 200
}

type LastStep = (challenge: string, user: PasswordUser) => Promise<() => Promise<boolean>>

const withApp: LastStep = async (challenge) => {
  const { secret, ...body } = await prepareApp(servers.post, challenge)
  return () => complete(routes.confirmSecondFactor.path, body)
}
const withPasskey: LastStep = async (challenge, user) => {
  const { request } = await preparePasskey(servers.post, challenge, user)
  return () => complete(routes.addPasskey.path, request)
}

const begin = (user: PasswordUser) => beginSetUp(servers.post, user)
const newUser = (sql: Sql) => newPasswordUser(sql, { cost: 4 })

/** Expects one factor, its ten codes and one session. */
async function expectOne(sql: Sql, { id }: { id: string }): Promise<void> {
  const [row] = await sql(
    `SELECT second_factor_at IS NOT NULL AS flag,
       (SELECT count(*)::int FROM second_factors WHERE user_id = $1)
         + (SELECT count(*)::int FROM passkeys WHERE user_id = $1) AS factors,
       (SELECT count(*)::int FROM recovery_codes WHERE user_id = $1) AS codes,
       (SELECT count(*)::int FROM sessions WHERE user_id = $1 AND revoked_at IS NULL) AS sessions
     FROM users WHERE id = $1`,
    [id],
  )
  expect(row).toEqual({ flag: true, factors: 1, codes: 10, sessions: 1 })
}

const pairs: [string, boolean, LastStep, LastStep][] = [
  ['an app and an app, with one challenge', true, withApp, withApp],
  ['a passkey and a passkey, with one challenge', true, withPasskey, withPasskey],
  ['an app and a passkey, with one challenge', true, withApp, withPasskey],
  ['an app and an app, with two challenges', false, withApp, withApp],
  ['an app and a passkey, with two challenges', false, withApp, withPasskey],
]
for (const [name, isShared, one, other] of pairs)
  test(`of two set-ups at once, one succeeds: ${name}`, async ({ sql }) => {
    for (let round = 0; round < rounds; round++) {
      const user = await newUser(sql)
      const challenge = await begin(user)
      const ofOther = isShared ? challenge : await begin(user)
      const steps = [await one(challenge, user), await other(ofOther, user)]
      const results = await Promise.all(steps.map((step) => step()))
      expect(results.filter(Boolean)).toHaveLength(1)
      await expectOne(sql, user)
    }
  })

test('of 20 requests with one challenge, one succeeds', async ({ sql }) => {
  for (const lastStep of [withApp, withPasskey]) {
    const user = await newUser(sql)
    const challenge = await begin(user)
    const step = await lastStep(challenge, user)
    const results = await Promise.all(Array.from({ length: 20 }, step))
    expect(results.filter(Boolean)).toHaveLength(1)
    await expectOne(sql, user)
  }
})

test('a last step that one browser sends twice at once is answered twice, with codes once', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newUser(sql)
    const headers = { Cookie: newBrowser() }
    const challenge = await begin(user)
    const { secret, ...body } = await prepareApp(servers.post, challenge)
    const send = () => servers.post(routes.confirmSecondFactor.path, body, headers)
    const responses = await Promise.all([send(), send()])
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    const counts = responses.map((response) => response.body.recoveryCodes!.length)
    expect(counts.toSorted((one, two) => one - two)).toEqual([0, 10])
    await expectOne(sql, user)
  }
})

test('a set-up and an addition in a session do not deadlock, and leave no session without a factor', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newUser(sql)
    const step = await withApp(await begin(user), user)
    const columns = { method: "'passkey'", amr: "'{pop,user,mfa}'" }
    const { headers } = await newFreshSession(sql, user, columns)
    const { body } = await servers.post(routes.startPasskey.path, {}, headers)
    const { challenge } = (body as { options: { challenge: string } }).options
    const credential = register(newPasskey(user.id), keepSecret(challenge), origin)
    const add = () => servers.post(routes.addPasskey.path, { credential }, headers)
    const [isSetUp, added] = await Promise.all([step(), add()])
    expect(isSetUp || added.status === 200).toBe(true)

    // whichever was first has ended the session, or the challenge, of the other
    expect(isSetUp && added.status === 200).toBe(false)
    await expectOne(sql, user)
  }
})

/** What forbids the session of a set-up. Each returns what does so. */
const endings: Record<string, (user: PasswordUser) => Promise<() => Promise<unknown>>> = {
  reset: async (user) => {
    const token = await newToken(user)
    return () => resetPassword(token, newPassword())
  },
  disabling: async ({ id }) => {
    return () => disableUser(id)
  },
  'rule of a domain': async ({ email }) => {
    const domain = email.split('@')[1]!
    const connection = await addTestConnection(domain, { activate: false })
    return async () => {
      await activateDomains(connection)
      await endPasswordSessions([domain])
    }
  },
}

for (const [name, prepare] of Object.entries(endings))
  test(`after a ${name}, no session of a set-up is alive, whatever happened at the same time`, async ({
    sql,
  }) => {
    const tally = await race(async () => {
      const email = `user@${randomUUID()}.example.org`
      const user = await newPasswordUser(sql, { cost: 4, email })
      const step = await withPasskey(await begin(user), user)
      return {
        contenders: [step],
        end: await prepare(user),
        check: async () => {
          if (name === 'disabling') await enableUser(user.id)
          expect(await liveSessionsOf(sql, user)).toEqual([])
        },
      }
    }, rounds)
    expect(tally.all, `set-ups before the ${name}`).toBeGreaterThan(0)
  })

test('sign-ins with a recovery code and the removal of passkeys do not deadlock', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newFactorUser(sql)
    await sql('DELETE FROM second_factors WHERE user_id = $1', [user.id])
    await storePasskey(sql, user, newPasskey(user.id))
    const signIn = async (recoveryCode: string) => {
      const { email, password } = user
      const { body } = await servers.post(routes.signIn.path, { email, password })
      const given = { challenge: body.challenge, recoveryCode }
      return () => servers.post(routes.signInSecondFactor.path, given)
    }
    const [first, second] = user.recoveryCodes
    const signIns = [await signIn(first!), await signIn(second!)]
    await Promise.all([
      ...signIns.map((send) => send()),
      removeAllPasskeys(user.id, 'en'),
    ])
    expect(await liveSessionsOf(sql, user)).toEqual([])
  }
})

test('a recovery code is spent once, without an authenticator app', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newFactorUser(sql)
    await sql('DELETE FROM second_factors WHERE user_id = $1', [user.id])
    const { email, password } = user
    const challenges = await Promise.all(
      [1, 2].map(async () => {
        const { body } = await servers.post(routes.signIn.path, { email, password })
        return body.challenge
      }),
    )
    const [recoveryCode] = user.recoveryCodes
    const responses = await Promise.all(
      challenges.map((challenge) =>
        servers.post(routes.signInSecondFactor.path, { challenge, recoveryCode }),
      ),
    )
    expect(responses.map(outcomeOf).toSorted()).toEqual(['200 ok', '400 used_code'])
  }
})

test('a fresh sign-in with a passkey proves nothing after its session has ended', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const columns = { method: "'passkey'", amr: "'{pop,user,mfa}'" }
  for (const path of [routes.replaceRecoveryCodes.path, routes.removeSecondFactor.path]) {
    const { headers } = await newFreshSession(sql, user, columns)
    const [, changed] = await inOrderOfLock(
      await lockRow('users', 'id = $1', user.id),
      () => signOutUser(user.id),
      () => servers.post(path, {}, headers),
    )
    expect(outcomeOf(changed), path).toBe('403 SIGN_IN_AGAIN')
  }
})

test('a process whose clock is wrong by a day sets up the same factors as others', async ({
  serverWith,
  sql,
}) => {
  const shifted = await serverWith({
    ...settings,
    PUBLIC_URL: origin,
    ...preload('cheap-hash.mjs', 'shifted-clock.mjs'),
  })
  for (const seconds of [86_400, -86_400]) {
    await shiftClock(shifted, seconds)
    const user = await newUser(sql)
    const challenge = await beginSetUp(shifted.post, user)
    const { secret, ...body } = await prepareApp(shifted.post, challenge)
    const code = totp(secret)
    const confirmed = await shifted.post(routes.confirmSecondFactor.path, {
      ...body,
      code,
    })
    expect(confirmed.status, String(seconds)).toBe(200)

    const other = await newUser(sql)
    const { request } = await preparePasskey(
      shifted.post,
      await beginSetUp(shifted.post, other),
      other,
    )
    const added = await shifted.post(routes.addPasskey.path, request)
    expect(added.status, String(seconds)).toBe(200)
  }
})
