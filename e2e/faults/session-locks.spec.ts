import { randomBytes } from 'node:crypto'
import { hashSecret } from '../../lib/crypto/token'
import { deleteExpiredRows } from '../../lib/database/clean-up'
import { disableUser } from '../../lib/user/user'
import { type Account, newAccount } from '../support/databases/account'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import { expect, test } from '../support/fixtures'
import {
  type Client,
  checkEnded,
  startTwoServers,
  type TwoServers,
} from '../support/servers/two-servers'

let servers: TwoServers
test.beforeAll(async ({ sql }) => {
  servers = await startTwoServers()
  // A server's first reset loads the words of the strength check, which takes longer than
  // a lock may be held.
  for (let count = 0; count < 2; count++) await servers.reset(await newAccount(sql, 0, 0))
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01), for which the client would get a 503
})
test.afterAll(() => servers.stop())

const locks = {
  user: (user: Account) => lockRow('users', 'id = $1', user.id),
  code: (user: Account) =>
    lockRow('exchange_codes', 'code_hash = $1', hashSecret(user.codes[0]!)),
  session: (user: Account) => lockRow('sessions', 'id = $1', user.sessions[0]!.id),
}

const enders: Record<string, (user: Account) => Promise<unknown>> = {
  'a reset': (user) => servers.reset(user),
  'disabling the user': (user) => disableUser(user.id),
}

/**
 * Operations that must be rejected or undone by a reset or by disabling the user, and the
 * rows for which both wait.
 */
const contenders: Record<
  string,
  {
    contend: (client: Client, user: Account, other: Account) => Promise<boolean>
    at: (keyof typeof locks)[]
  }
> = {
  refreshing: {
    contend: ({ refresh }, { sessions }) => refresh(sessions[0]!.refreshToken),
    at: ['session'],
  },
  exchanging: {
    contend: ({ exchange }, { codes }) => exchange(codes[0]!),
    at: ['user', 'code'],
  },
  'exchanging with an older session cookie': {
    contend: ({ exchange }, { codes, sessions }) => exchange(codes[0]!, sessions[0]),
    at: ['user', 'code', 'session'],
  },
  'exchanging with the session cookie of another user': {
    contend: ({ exchange }, { codes }, other) => exchange(codes[0]!, other.sessions[0]),
    at: ['user', 'code'],
  },
}

for (const [what, { contend, at }] of Object.entries(contenders)) {
  for (const [ending, end] of Object.entries(enders)) {
    test(`no session remains after ${what} and ${ending}, in either order`, async ({
      sql,
    }) => {
      for (const row of at) {
        for (const contendsFirst of [true, false]) {
          const [user, other] = [await newAccount(sql, 2, 2), await newAccount(sql, 1, 0)]
          const client = servers.client()
          const [contending, endingAll] = [
            () => contend(client, user, other),
            () => end(user),
          ]
          const lock = await locks[row](user)
          if (contendsFirst)
            expect(
              (await inOrderOfLock(lock, contending, endingAll))[0],
              `at the ${row}`,
            ).toBe(true)
          else
            expect(
              (await inOrderOfLock(lock, endingAll, contending))[1],
              `at the ${row}`,
            ).toBe(false)
          await checkEnded(servers, sql, user, client.given)
          const hasEndedOther = what.includes('another user') && contendsFirst
          expect(await servers.alive(other.sessions)).toHaveLength(hasEndedOther ? 0 : 1)
        }
      }
    })
  }
}

for (const [ending, end] of Object.entries(enders)) {
  test(`${ending} and another user’s exchange with the first user’s session cookie both succeed`, async ({
    sql,
  }) => {
    for (const exchangesFirst of [true, false]) {
      const [user, other] = [await newAccount(sql, 0, 1), await newAccount(sql, 2, 0)]
      const client = servers.client()
      const operations = [
        () => client.exchange(user.codes[0]!, other.sessions[0]),
        () => end(other),
      ] as const
      const [first, second] = exchangesFirst ? operations : operations.toReversed()
      await inOrderOfLock(await locks.session(other), first!, second!)
      expect(await servers.alive(client.given)).toHaveLength(1)
      await checkEnded(servers, sql, other, [])
    }
  })
}

test('no session remains after a refresh and a sign-out, in either order', async ({
  sql,
}) => {
  for (const refreshesFirst of [true, false]) {
    const user = await newAccount(sql, 2, 0)
    const [session, otherSession] = user.sessions
    const client = servers.client()
    const [refreshing, signingOut] = [
      () => client.refresh(session!.refreshToken),
      () => servers.signOut(session!),
    ]
    const lock = await locks.session(user)
    if (refreshesFirst)
      expect((await inOrderOfLock(lock, refreshing, signingOut))[0]).toBe(true)
    else expect((await inOrderOfLock(lock, signingOut, refreshing))[1]).toBe(false)
    expect(await servers.alive([session!, ...client.given, otherSession!])).toEqual([
      otherSession,
    ])
  }
})

test('rejects a refresh that waits while the clean-up deletes its session', async ({
  sql,
}) => {
  const user = await newAccount(sql, 1, 0)
  const client = servers.client()
  const lock = await locks.session(user)
  const refreshing = client.refresh(user.sessions[0]!.refreshToken)
  await lock.waiting(1)
  await lock.sql(`DELETE FROM sessions WHERE id = $1`, [user.sessions[0]!.id])
  await lock.release()
  expect(await refreshing).toBe(false)
})

test('the clean-up skips a session that is being refreshed, and deletes it in its next run', async ({
  sql,
}) => {
  const user = await newAccount(sql, 2, 0)
  const client = servers.client()
  const count = () =>
    sql('SELECT count(*)::int FROM sessions WHERE user_id = $1', [user.id])
  const lock = await locks.session(user)
  const refreshing = client.refresh(user.sessions[0]!.refreshToken)
  await lock.waiting(1)
  await lock.sql(
    `UPDATE sessions SET expires_at = now() - interval '8 days' WHERE id = $1`,
    [user.sessions[0]!.id],
  )
  await sql(`UPDATE sessions SET expires_at = now() - interval '8 days' WHERE id = $1`, [
    user.sessions[1]!.id,
  ])
  await deleteExpiredRows()
  expect(await count()).toEqual([{ count: 1 }])
  await lock.waiting(1)
  await lock.release()
  expect(await refreshing).toBe(false)
  await deleteExpiredRows()
  expect(await count()).toEqual([{ count: 0 }])
})

test('signing out two sessions, or replacing them in an exchange, causes no deadlock with a reset', async ({
  sql,
}) => {
  // The plans of this role lock the sessions in the order of the index. With a
  // random_page_cost of 1.1, the planner would choose the same plans for a large table
  // without this role.
  const role = `by_index_${randomBytes(6).toString('hex')}`
  await sql(
    `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${role}'; ALTER ROLE ${role} SET enable_bitmapscan = off`,
  )
  const byIndex = Object.assign(new URL(process.env.DATABASE_URL!), {
    username: role,
    password: role,
  })
  const indexed = await startTwoServers(byIndex.href)
  for (const exchanges of [false, true]) {
    for (const reversed of [true, false]) {
      const [user, other] = [await newAccount(sql, 2, 0), await newAccount(sql, 0, 1)]
      const byId = [...user.sessions].sort((one, two) => (one.id < two.id ? -1 : 1))
      const [early, late] = reversed ? byId.reverse() : byId
      await sql(`DELETE FROM sessions WHERE user_id = $1`, [user.id])
      const insert = `INSERT INTO sessions (id, user_id, expires_at) VALUES ($1, $2, now() + interval '1 day')`
      for (const { id } of [early!, late!]) await sql(insert, [id, user.id])
      const [first, second] = [
        await lockRow('sessions', 'id = $1', early!.id),
        await lockRow('sessions', 'id = $1', late!.id),
      ]
      const { exchange } = indexed.client()
      const ending = exchanges
        ? exchange(other.codes[0]!, early, late)
        : indexed.signOut(early!, late)
      const resetting = indexed.reset(user)
      await expect
        .poll(async () => (await first.countWaiting()) + (await second.countWaiting()), {
          intervals: [10],
        })
        .toBe(2)
      await first.release()
      await second.release()
      await Promise.all([ending, resetting])
      await checkEnded(indexed, sql, user, [])
    }
  }
  await indexed.stop()
  await sql(`DROP ROLE ${role}`)
  expect(indexed.logged('error')).toEqual([])
})
