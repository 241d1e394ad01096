import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { signIn } from '../../lib/password/sign-in'
import { makeChallenge } from '../../lib/second-factor/challenge'
import { confirmEnrolment, removeOwnSecondFactor } from '../../lib/second-factor/change'
import { newTotpSecret } from '../../lib/second-factor/codes'
import { encrypt } from '../../lib/second-factor/encryption'
import { findFactor } from '../../lib/second-factor/find'
import { signInWithSecondFactor } from '../../lib/second-factor/sign-in'
import type { Connection } from '../../lib/sso/connection'
import { findOrLinkUser } from '../../lib/sso/identity'
import { disableUser, enableUser, signOutUser } from '../../lib/user/user'
import { liveSessionsOf } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import {
  caller,
  newPasswordUser,
  type PasswordUser,
} from '../support/databases/password-user'
import { race, rounds } from '../support/databases/race'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import { type FactorUser, newFactorUser, totp } from '../support/databases/second-factor'
import { expect, newPassword, newToken, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

// the number of rounds is fixed, so a slow machine needs time
test.describe.configure({ timeout: 600_000 })

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers(process.env.DATABASE_URL!, {
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
  })
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01)
})
test.afterAll(() => servers.stop())

/** Returns the user ID, or the reason of a rejection. */
const outcome = (signingIn: Promise<{ userId: string } | string>) =>
  signingIn.then(
    (user) => (typeof user === 'string' ? user : user.userId),
    ({ code, check }) => code ?? check,
  )

/** Starts a session with a new secret. Returns a function that confirms the secret. */
async function enrolment(sql: Sql, { id, email }: PasswordUser, seconds = 600) {
  const insert = `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day') RETURNING id`
  const sessionId: string = (await sql(insert, [id]))[0]!.id
  const session = {
    sessionId,
    familyId: sessionId,
    userId: id,
    email,
    endsAt: new Date(),
  }
  const secret = keepSecret(await newTotpSecret())
  const text = JSON.stringify({
    secret,
    expiresAt: Math.floor(Date.now() / 1000) + seconds,
  })
  const given = {
    enrolment: await encrypt(text, `enrolment ${id} ${sessionId}`),
    code: totp(secret),
  }
  return {
    sessionId,
    confirm: () => confirmEnrolment(session, given, caller).catch(({ code }) => code),
  }
}

/** Returns different challenges, as several sign-ins would. */
async function challengesOf({ id }: { id: string }, count: number): Promise<string[]> {
  const user = (await findFactor(id))!
  return Array.from({ length: count }, () => keepSecret(makeChallenge(user).challenge))
}

/** Sends a request to one of the servers. Returns whether it succeeded. */
async function succeeds(
  path: string,
  body: object,
  ...errors: string[]
): Promise<boolean> {
  const { status, body: answer } = await servers.post(path, body)
  if (status !== 200 && !errors.includes(answer.code!))
    throw new Error(`unexpected: ${status} ${answer.code}`)
  return status === 200
}

const arrivals: [
  string,
  string,
  (user: PasswordUser, connection: Connection) => Promise<{ userId: string } | string>,
][] = [
  [
    'a sign-in',
    'SECOND_FACTOR_REQUIRED',
    ({ email, password }) => signIn(email, password, caller),
  ],
  [
    'a first sign-in through a connection',
    'identity_second_factor',
    ({ email }, connection) =>
      findOrLinkUser(connection, { issuer: 'x', subject: randomUUID() }, async () => ({
        email,
        isVerified: true,
      })),
  ],
]
for (const [what, error, arrive] of arrivals)
  for (const isFirst of [true, false])
    test(`${what} ${isFirst ? 'succeeds before' : 'fails after'} the user confirms a factor`, async ({
      sql,
    }) => {
      const domain = `${randomUUID()}.example.org`
      const connection = await addTestConnection(domain, { allowPasswords: true })
      const user = await newPasswordUser(sql, { cost: 4, email: `ada@${domain}` })
      const { sessionId, confirm } = await enrolment(sql, user)
      const act = () => outcome(arrive(user, connection))
      const order = isFirst ? ([act, confirm] as const) : ([confirm, act] as const)
      const results = await inOrderOfLock(
        await lockRow('users', 'id = $1', user.id),
        ...order,
      )
      expect(results[isFirst ? 0 : 1]).toBe(isFirst ? user.id : error)
      expect(await liveSessionsOf(sql, user), 'none without the factor').toEqual([
        { id: sessionId },
      ])
      const linked = await sql('SELECT 1 FROM identities WHERE user_id = $1', [user.id])
      expect(linked).toHaveLength(isFirst && error.startsWith('identity') ? 1 : 0)
    })

test('a confirmation changes nothing if it has expired or waits while its session ends', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  expect(await (await enrolment(sql, user, -1)).confirm()).toBe('CHALLENGE_INVALID')
  const { confirm } = await enrolment(sql, user)
  const lock = await lockRow('users', 'id = $1', user.id)
  expect(await inOrderOfLock(lock, () => signOutUser(user.id), confirm)).toEqual([
    2,
    'SECOND_FACTOR_CONFLICT',
  ])
  expect(await findFactor(user.id)).toMatchObject({
    enabledAt: null,
    encryptedSecret: null,
    recoveryCodesLeft: 0,
  })
})

for (const kind of ['code', 'recoveryCode'] as const)
  test(`only one of 50 concurrent requests with one ${kind} starts a session`, async ({
    sql,
  }) => {
    for (let round = 0; round < Math.ceil(rounds / 10); round++) {
      const user = await newFactorUser(sql)
      const given = {
        [kind]: kind === 'code' ? totp(user.secret) : user.recoveryCodes[0],
      }
      const send = (challenge: string) =>
        succeeds(
          routes.signInSecondFactor.path,
          { challenge, ...given },
          'SECOND_FACTOR_INVALID',
          'RATE_LIMITED',
        )
      const results = await Promise.all((await challengesOf(user, 50)).map(send))
      expect(results.filter(Boolean)).toHaveLength(1)
      expect(await liveSessionsOf(sql, user)).toHaveLength(1)
    }
  })

test('a challenge starts only one session, even with several valid codes', async ({
  sql,
}) => {
  const user = await newFactorUser(sql)
  const [challenge] = await challengesOf(user, 1)
  const [one, other] = user.recoveryCodes.map(
    (recoveryCode) => () =>
      outcome(signInWithSecondFactor(challenge!, { recoveryCode }, caller)),
  )
  const outcomes = await inOrderOfLock(
    await lockRow('users', 'id = $1', user.id),
    one!,
    other!,
  )
  expect(outcomes.toSorted()).toEqual([user.id, 'CHALLENGE_INVALID'].toSorted())
  expect(await findFactor(user.id), 'the rejected code is not spent').toMatchObject({
    recoveryCodesLeft: 9,
  })
})

/** Sign-ins, the operation that ends their sessions, and the sessions that remain. */
type Rivals = {
  user: PasswordUser
  signIn: (index: number) => Promise<boolean>
  end: () => unknown
  left: string[]
}

const secondSteps = (end: (user: FactorUser) => unknown) => async (sql: Sql) => {
  const user = await newFactorUser(sql)
  const challenges = await challengesOf(user, 4)
  const codes = [
    { code: totp(user.secret) },
    ...user.recoveryCodes.map((recoveryCode) => ({ recoveryCode })),
  ]
  const step = (index: number) => {
    const body = { challenge: challenges[index], ...codes[index] }
    return succeeds(
      routes.signInSecondFactor.path,
      body,
      'CHALLENGE_INVALID',
      'SECOND_FACTOR_INVALID',
    )
  }
  return { user, signIn: step, end: () => end(user), left: [] }
}
const rivals: Record<string, (sql: Sql) => Promise<Rivals>> = {
  'a confirmation': async (sql) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const { sessionId, confirm } = await enrolment(sql, user)
    const { email, password } = user
    // With a hash of cost 4, each sign-in replaces the stored hash too.
    const signIn = () =>
      succeeds(
        routes.signIn.path,
        { email, password },
        'SECOND_FACTOR_REQUIRED',
        'SIGN_IN_INVALID',
      )
    return { user, signIn, end: confirm, left: [sessionId] }
  },
  'a reset': secondSteps(async (user) =>
    succeeds(routes.resetPassword.path, {
      token: await newToken(user),
      password: newPassword(),
    }),
  ),
  'disabling the user': secondSteps(({ id }) => disableUser(id)),
  'removing the factor': secondSteps(({ id }) => removeOwnSecondFactor(id, 'en')),
}
for (const [what, prepare] of Object.entries(rivals))
  test(`${what} during sign-ins leaves no session that started earlier`, async ({
    sql,
  }) => {
    const { all, some, none } = await race(async () => {
      const { user, signIn, end, left } = await prepare(sql)
      return {
        contenders: [0, 1, 2, 3].map((index) => () => signIn(index)),
        end: async () => end(),
        check: async () => {
          await enableUser(user.id)
          const live = (await liveSessionsOf(sql, user)).map(({ id }) => id)
          if (live.join() !== left.join())
            throw new Error(`these sessions are live: ${live}`)
        },
      }
    })
    console.log(
      `of ${rounds} rounds, all contenders succeeded in ${all}, some in ${some}, none in ${none}`,
    )
    expect(Math.min(all, none) + some, 'each side was first').toBeGreaterThanOrEqual(
      rounds / 10,
    )
  })

test('one of two concurrent confirmations enables the factor, and the other loses its session', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const both = [await enrolment(sql, user), await enrolment(sql, user)]
    const results = await Promise.all(both.map(({ confirm }) => confirm()))
    const winner = results.findIndex((result) => typeof result === 'object')
    expect(results[1 - winner]).toBe('SECOND_FACTOR_CONFLICT')
    expect(await liveSessionsOf(sql, user)).toEqual([{ id: both[winner]!.sessionId }])
    expect(await findFactor(user.id)).toMatchObject({ recoveryCodesLeft: 10 })
  }
})
