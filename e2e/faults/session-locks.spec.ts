import { deleteExpiredRows } from '../../lib/database/clean-up'
import { hashSecret } from '../../lib/secret'
import { disableUser } from '../../lib/user'
import { type Account, newAccount } from '../support/account'
import { expect, test } from '../support/fixtures'
import { closeGate, queueAt } from '../support/gate'
import { type Client, checkEnded, startTwins, type Twins } from '../support/twins'

let twins: Twins
test.beforeAll(async () => {
  twins = await startTwins()
})
test.afterEach(() => {
  expect(twins.logged('error')).toEqual([]) // such as a deadlock (40P01), which is a 503 to the client
})
test.afterAll(() => twins.stop())

const gates = {
  user: (user: Account) => closeGate('users', 'id = $1', user.id),
  code: (user: Account) => closeGate('exchange_codes', 'code_hash = $1', hashSecret(user.codes[0]!)),
  session: (user: Account) => closeGate('sessions', 'id = $1', user.sessions[0]!.id),
}

const enders: Record<string, (user: Account) => Promise<unknown>> = {
  'a reset': (user) => twins.reset(user),
  'disabling the user': (user) => disableUser(user.id),
}

/** What an ender should reject or undo, and the rows for which both of them wait. */
const contenders: Record<
  string,
  { contend: (client: Client, user: Account, other: Account) => Promise<boolean>; at: (keyof typeof gates)[] }
> = {
  refreshing: { contend: ({ refresh }, { sessions }) => refresh(sessions[0]!.refreshToken), at: ['session'] },
  exchanging: { contend: ({ exchange }, { codes }) => exchange(codes[0]!), at: ['user', 'code'] },
  'exchanging over a held session': {
    contend: ({ exchange }, { codes, sessions }) => exchange(codes[0]!, sessions[0]),
    at: ['user', 'code', 'session'],
  },
  'exchanging over the session of another user': {
    contend: ({ exchange }, { codes }, other) => exchange(codes[0]!, other.sessions[0]),
    at: ['user', 'code'],
  },
}

for (const [what, { contend, at }] of Object.entries(contenders)) {
  for (const [ending, end] of Object.entries(enders)) {
    test(`${what}, then ${ending}, or the other way round: no session survives`, async ({ sql }) => {
      for (const row of at) {
        for (const contendsFirst of [true, false]) {
          const [user, other] = [await newAccount(sql, 2, 2), await newAccount(sql, 1, 0)]
          const client = twins.client()
          const [contending, endingAll] = [() => contend(client, user, other), () => end(user)]
          const gate = await gates[row](user)
          if (contendsFirst) expect((await queueAt(gate, contending, endingAll))[0], `at the ${row}`).toBe(true)
          else expect((await queueAt(gate, endingAll, contending))[1], `at the ${row}`).toBe(false)
          await checkEnded(twins, sql, user, client.given)
          const hasEndedOther = what.includes('another user') && contendsFirst
          expect(await twins.alive(other.sessions)).toHaveLength(hasEndedOther ? 0 : 1)
        }
      }
    })
  }
}

for (const [ending, end] of Object.entries(enders)) {
  test(`exchanging over a session of another user, and ${ending} of theirs, in either order: both succeed`, async ({
    sql,
  }) => {
    for (const exchangesFirst of [true, false]) {
      const [user, other] = [await newAccount(sql, 0, 1), await newAccount(sql, 2, 0)]
      const client = twins.client()
      const operations = [() => client.exchange(user.codes[0]!, other.sessions[0]), () => end(other)] as const
      const [first, second] = exchangesFirst ? operations : operations.toReversed()
      await queueAt(await gates.session(other), first!, second!)
      expect(await twins.alive(client.given)).toHaveLength(1)
      await checkEnded(twins, sql, other, [])
    }
  })
}

test('refreshing, then a sign-out, or the other way round: the session ends', async ({ sql }) => {
  for (const refreshesFirst of [true, false]) {
    const user = await newAccount(sql, 2, 0)
    const [session, otherSession] = user.sessions
    const client = twins.client()
    const [refreshing, signingOut] = [() => client.refresh(session!.refreshToken), () => twins.signOut(session!)]
    const gate = await gates.session(user)
    if (refreshesFirst) expect((await queueAt(gate, refreshing, signingOut))[0]).toBe(true)
    else expect((await queueAt(gate, signingOut, refreshing))[1]).toBe(false)
    expect(await twins.alive([session!, ...client.given, otherSession!])).toEqual([otherSession])
  }
})

test('a refresh that waits for a session while clean-up deletes it is rejected', async ({ sql }) => {
  const user = await newAccount(sql, 1, 0)
  const client = twins.client()
  const gate = await gates.session(user)
  const refreshing = client.refresh(user.sessions[0]!.refreshToken)
  await gate.waiting(1)
  await gate.sql(`DELETE FROM sessions WHERE id = $1`, [user.sessions[0]!.id])
  await gate.open()
  expect(await refreshing).toBe(false)
})

test('clean-up does not wait for a session that is being refreshed; the next run deletes it', async ({ sql }) => {
  const user = await newAccount(sql, 2, 0)
  const client = twins.client()
  const count = () => sql('SELECT count(*)::int FROM sessions WHERE user_id = $1', [user.id])
  const gate = await gates.session(user)
  const refreshing = client.refresh(user.sessions[0]!.refreshToken)
  await gate.waiting(1)
  await gate.sql(`UPDATE sessions SET expires_at = now() - interval '8 days' WHERE id = $1`, [user.sessions[0]!.id])
  await sql(`UPDATE sessions SET expires_at = now() - interval '8 days' WHERE id = $1`, [user.sessions[1]!.id])
  await deleteExpiredRows()
  expect(await count()).toEqual([{ count: 1 }])
  await gate.waiting(1)
  await gate.open()
  expect(await refreshing).toBe(false)
  await deleteExpiredRows()
  expect(await count()).toEqual([{ count: 0 }])
})

test('signing out of two sessions at once, or exchanging over them, and a reset: no deadlock', async ({ sql }) => {
  // The planner chooses these plans itself for a large table, if random_page_cost is 1.1. They lock the
  // sessions in the order of the index.
  const byIndex = new URL(process.env.DATABASE_URL!)
  byIndex.searchParams.set('options', '-c enable_bitmapscan=off')
  const indexed = await startTwins(byIndex.href)
  for (const exchanges of [false, true]) {
    for (const reversed of [true, false]) {
      const [user, other] = [await newAccount(sql, 2, 0), await newAccount(sql, 0, 1)]
      const byId = [...user.sessions].sort((one, two) => (one.id < two.id ? -1 : 1))
      const [early, late] = reversed ? byId.reverse() : byId
      await sql(`DELETE FROM sessions WHERE user_id = $1`, [user.id])
      for (const { id } of [early!, late!]) {
        await sql(`INSERT INTO sessions (id, user_id, expires_at) VALUES ($1, $2, now() + interval '1 day')`, [
          id,
          user.id,
        ])
      }
      const [first, second] = [
        await closeGate('sessions', 'id = $1', early!.id),
        await closeGate('sessions', 'id = $1', late!.id),
      ]
      const { exchange } = indexed.client()
      const ending = exchanges ? exchange(other.codes[0]!, early, late) : indexed.signOut(early!, late)
      const resetting = indexed.reset(user)
      await expect.poll(async () => (await first.count()) + (await second.count()), { intervals: [10] }).toBe(2)
      await first.open()
      await second.open()
      await Promise.all([ending, resetting])
      await checkEnded(indexed, sql, user, [])
    }
  }
  await indexed.stop()
  expect(indexed.logged('error')).toEqual([])
})
