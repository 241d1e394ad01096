import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { startRegistration } from '../../lib/passkey/add'
import { removeAllPasskeys, removePasskey } from '../../lib/passkey/manage'
import { resetPassword } from '../../lib/password/reset'
import { env } from '../../lib/settings/env'
import { activateDomains } from '../../lib/sso/manage/activate'
import { endPasswordSessions } from '../../lib/sso/manage/batches'
import { disableUser, enableUser } from '../../lib/user/user'
import { assert, newPasskey, type Passkey, register } from '../support/authenticator'
import { liveSessionsOf } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import {
  countPasskeys,
  newFreshSession,
  newPasskeyUser,
  newSignInChallenge,
  type PasskeyUser,
  storePasskey,
} from '../support/databases/passkey'
import { caller, newPasswordUser } from '../support/databases/password-user'
import { race, rounds } from '../support/databases/race'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import { expect, newPassword, newToken, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { shiftClock } from '../support/servers/server'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

test.describe.configure({ timeout: 600_000 })

const origin = process.env.PUBLIC_URL!
let servers: TwoServers
test.beforeAll(async () => {
  env().PASSKEYS = true // for the operations that this process executes
  servers = await startTwoServers(process.env.DATABASE_URL!, {
    PASSWORD_SIGN_IN: 'true',
    PASSKEYS: 'true',
  })
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01)
})
test.afterAll(async () => {
  env().PASSKEYS = false
  await servers.stop()
})

/** Sends an assertion. Returns whether it started a session. */
async function enter(
  { passkey }: { passkey: Passkey },
  challenge: string,
  { signCount = 0, headers = {} } = {},
): Promise<boolean> {
  const credential = assert(passkey, challenge, origin, { signCount })
  const path = routes.signInWithPasskey.path
  const { status, body } = await servers.post(path, { credential }, headers)
  const isRejected = ['PASSKEY_INVALID', 'CHALLENGE_INVALID'].includes(body.code!)
  if (status !== 200 && !isRejected) throw new Error(`unexpected: ${status} ${body.code}`)
  return status === 200
}

type Ending = (
  user: PasskeyUser,
  sql: Sql,
) => Promise<{ end: () => Promise<unknown>; undo?: () => Promise<unknown> }>

/** What ends the use of a passkey, so that no session of it may live afterwards. */
const endings: Record<string, Ending> = {
  removal: async (user, sql) => {
    const { id: sessionId } = await newFreshSession(sql, user)
    const session = { sessionId, userId: user.id, email: user.email, endsAt: new Date() }
    const { passkeyId } = user
    return {
      end: () => removePasskey(session, { passkeyId }, caller),
      undo: () =>
        sql('UPDATE sessions SET revoked_at = now() WHERE id = $1', [sessionId]),
    }
  },
  'removal by an operator': async ({ id }) => ({
    end: () => removeAllPasskeys(id, 'en'),
  }),
  'disabling of the user': async ({ id }) => ({
    end: () => disableUser(id),
    undo: () => enableUser(id),
  }),
  'reset that removes passkeys': async (user) => {
    const token = await newToken(user)
    return {
      end: () => resetPassword(token, newPassword(), caller, { removePasskeys: true }),
    }
  },
  'rule of a domain': async ({ email }) => {
    const domain = email.split('@')[1]!
    const connection = await addTestConnection(domain, { activate: false })
    return {
      end: async () => {
        await activateDomains(connection)
        await endPasswordSessions([domain])
      },
    }
  },
}

const newUser = (sql: Sql) =>
  newPasskeyUser(sql, { email: `ada@${randomUUID()}.example.org` })

for (const [name, prepareEnding] of Object.entries(endings))
  test(`after a ${name}, no session of the passkey is alive, whatever happened at the same time`, async ({
    sql,
  }) => {
    const tally = await race(async () => {
      const user = await newUser(sql)
      const challenges = [await newSignInChallenge(), await newSignInChallenge()]
      const { end, undo } = await prepareEnding(user, sql)
      return {
        contenders: challenges.map((challenge) => () => enter(user, challenge)),
        end,
        check: async () => {
          await undo?.()
          expect(await liveSessionsOf(sql, user)).toEqual([])
        },
      }
    }, rounds)
    expect(tally.all + tally.some, 'sign-ins before the end').toBeGreaterThan(0)
  })

test('a sign-in that waits behind a removal starts no session', async ({ sql }) => {
  for (const name of [
    'removal',
    'removal by an operator',
    'reset that removes passkeys',
  ]) {
    const user = await newUser(sql)
    const challenge = await newSignInChallenge()
    const { end, undo } = await endings[name]!(user, sql)
    const lock = await lockRow('users', 'id = $1', user.id)
    const [, isIn] = await inOrderOfLock(lock, end, () => enter(user, challenge))
    await undo?.()
    expect([isIn, await liveSessionsOf(sql, user)], name).toEqual([false, []])
  }
})

test('of 50 requests with one assertion, one starts a session', async ({ sql }) => {
  for (const isSynced of [true, false]) {
    const user = await newPasskeyUser(sql, { isSynced })
    const challenge = await newSignInChallenge()
    const signCount = isSynced ? 0 : 1
    const results = await Promise.all(
      Array.from({ length: 50 }, () => enter(user, challenge, { signCount })),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await liveSessionsOf(sql, user)).toHaveLength(1)
  }
})

test('of two assertions at once, both succeed without a counter, and one with the same', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++)
    for (const [isSynced, signCount, expected] of [
      [true, 0, 2],
      [false, 0, 2],
      [false, 1, 1],
    ] as const) {
      const user = await newPasskeyUser(sql, { isSynced })
      const challenges = [await newSignInChallenge(), await newSignInChallenge()]
      const results = await Promise.all(
        challenges.map((challenge) => enter(user, challenge, { signCount })),
      )
      expect(results.filter(Boolean)).toHaveLength(expected)
    }
})

/** Returns a function that adds a passkey in a fresh session of the user. */
async function prepareAdd(
  sql: Sql,
  user: { id: string; email: string },
  passkey = newPasskey(user.id),
) {
  const { id: sessionId, headers } = await newFreshSession(sql, user)
  const session = { sessionId, userId: user.id, email: user.email, endsAt: new Date() }
  const { options } = await startRegistration(session)
  const credential = register(passkey, keepSecret(options.challenge), origin)

  return async () => {
    const { status, body } = await servers.post(
      routes.addPasskey.path,
      { credential },
      headers,
    )
    const known = ['PASSKEY_CONFLICT', 'CHALLENGE_INVALID', 'SIGN_IN_AGAIN']
    if (status !== 200 && !known.includes(body.code!))
      throw new Error(`unexpected: ${status} ${body.code}`)
    return status === 200
  }
}

test('of two requests that add one passkey, one stores it', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const passkey = newPasskey(user.id)
    const adds = [
      await prepareAdd(sql, user, passkey),
      await prepareAdd(sql, user, passkey),
    ]
    const results = await Promise.all(adds.map((add) => add()))
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await countPasskeys(sql, user)).toBe(1)
  }
})

test('a request to add that arrives twice at once is answered twice', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const add = await prepareAdd(sql, user)
    expect(await Promise.all([add(), add()])).toEqual([true, true])
    expect(await countPasskeys(sql, user)).toBe(1)
  }
})

test('a user with 19 passkeys never gets 21', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasswordUser(sql, { cost: 4 })
    await Promise.all(
      Array.from({ length: 19 }, () => storePasskey(sql, user, newPasskey(user.id))),
    )
    const adds = await Promise.all([1, 2, 3].map(() => prepareAdd(sql, user)))
    const results = await Promise.all(adds.map((add) => add()))
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await countPasskeys(sql, user)).toBe(20)
  }
})

test('a session that a reset has ended adds no passkey', async ({ sql }) => {
  let before = 0
  await race(async () => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const add = await prepareAdd(sql, user)
    const token = await newToken(user)
    let isAdded = false
    return {
      contenders: [async () => (isAdded = await add())],
      end: () => resetPassword(token, newPassword(), caller, { removePasskeys: true }),
      // a reset removes what was added before it, so nothing may be left
      check: async () => {
        if (isAdded) before++
        expect(await countPasskeys(sql, user)).toBe(0)
      },
    }
  }, rounds)
  expect(before, 'added before the reset').toBeGreaterThan(0)

  const user = await newPasswordUser(sql, { cost: 4 })
  const add = await prepareAdd(sql, user)
  const token = await newToken(user)
  const lock = await lockRow('users', 'id = $1', user.id)
  const reset = () => resetPassword(token, newPassword(), caller)
  const [, isAdded] = await inOrderOfLock(lock, reset, add)
  expect([isAdded, await countPasskeys(sql, user)]).toEqual([false, 0])
})

test('sign-ins, additions and removals of one user do not deadlock', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasskeyUser(sql)
    const [challenge, add] = [await newSignInChallenge(), await prepareAdd(sql, user)]
    const { end } = await endings.removal!(user, sql)
    await Promise.all([
      enter(user, challenge),
      add(),
      end(),
      removeAllPasskeys(user.id, 'en'),
    ])
  }
})

test('challenges expire by the clock of the database', async ({ serverWith, sql }) => {
  const shifted = await serverWith({
    PASSWORD_SIGN_IN: 'true',
    PASSKEYS: 'true',
    PUBLIC_URL: origin,
    ...preload('cheap-hash.mjs', 'shifted-clock.mjs'),
  })
  for (const seconds of [86_400, -86_400]) {
    await shiftClock(shifted, seconds)
    const user = await newPasskeyUser(sql)
    const response = await shifted.get(routes.getPasskeySignInOptions.path)
    const { options } = await response.json()
    const credential = assert(user.passkey, keepSecret(options.challenge), origin)
    const entered = await shifted.post(routes.signInWithPasskey.path, { credential })
    expect(entered.status, String(seconds)).toBe(200)

    const { headers } = await newFreshSession(sql, user)
    const started = await shifted.post(routes.startPasskey.path, {}, headers)
    const { challenge } = started.body.options as { challenge: string }
    const added = await shifted.post(
      routes.addPasskey.path,
      { credential: register(newPasskey(user.id), keepSecret(challenge), origin) },
      headers,
    )
    expect(added.status, String(seconds)).toBe(200)
  }
})
