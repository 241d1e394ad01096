import { deleteExpiredRows } from '../../lib/database/clean-up'
import { disableUser, enableUser } from '../../lib/user/user'
import { type Account, newAccount } from '../support/databases/account'
import { type Round, race, rounds } from '../support/databases/race'
import { expect, test } from '../support/fixtures'
import {
  checkEnded,
  startTwoServers,
  type TwoServers,
} from '../support/servers/two-servers'

// the number of rounds is fixed, so a slow machine needs time
test.describe.configure({ timeout: 600_000 })

/**
 * Every fifth round presents the tokens, which is slow. The others check only the
 * database.
 */
const presents = (index: number) => index % 5 === 0

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers()
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01), for which the client would get a 503
})
test.afterAll(() => servers.stop())

/** Runs the rounds. Each side must be first in at least a tenth of them. */
async function raceBothWays(prepare: (index: number) => Promise<Round>): Promise<void> {
  const { all, some, none } = await race(prepare)
  console.log(
    `of ${rounds} rounds, all contenders succeeded in ${all}, some in ${some}, none in ${none}`,
  )
  expect(all + some + none).toBe(rounds)
  expect(Math.min(all, none) + some).toBeGreaterThanOrEqual(rounds / 10)
}

test('a sign-out during refreshes ends only its own session', async ({ sql }) => {
  await raceBothWays(async (index) => {
    const user = await newAccount(sql, 3, 0)
    const [session, ...others] = user.sessions
    const { refresh, given } = servers.client()
    return {
      contenders: Array.from({ length: 4 }, () => () => refresh(session!.refreshToken)),
      end: () => servers.signOut(session!, index % 2 ? session : undefined),
      check: async () => {
        const live = presents(index)
          ? await servers.alive([session!, ...given, ...others])
          : others
        const rows = await sql(
          'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL',
          [user.id],
        )
        if (live.length !== 2 || live[0] !== others[0])
          throw new Error(`${live.length} tokens work`)
        if (rows.length !== 2 || rows.some(({ id }) => id === session!.id))
          throw new Error('the session is live')
      },
    }
  })
})

test('the clean-up during refreshes deletes expired sessions, and no expired session is renewed', async ({
  sql,
}) => {
  const users: string[] = []
  await raceBothWays(async (index) => {
    const user = await newAccount(sql, 3, 0)
    users.push(user.id)
    const { refresh, given } = servers.client()
    return {
      contenders: [...user.sessions, user.sessions[0]!].map(
        (session) => () => refresh(session.refreshToken),
      ),
      end: async () => {
        await sql(
          `UPDATE sessions SET expires_at = now() - interval '8 days' WHERE user_id = $1`,
          [user.id],
        )
        await deleteExpiredRows()
      },
      check: async () => {
        const live = presents(index)
          ? await servers.alive([...user.sessions, ...given])
          : []
        if (live.length > 0) throw new Error(`${live.length} expired sessions are live`)
      },
    }
  })
  await deleteExpiredRows() // the previous run skipped locked rows
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = ANY ($1)', [users])).toEqual(
    [],
  )
})

/** Ways to end all sessions and codes of a user. */
const enders: Record<string, (user: Account, index: number) => Promise<unknown>> = {
  'a reset': (user) => servers.reset(user),
  'disabling the user': async ({ id }, index) => {
    await disableUser(id)
    // in the other rounds, checkEnded enables the user
    if (index % 2) await enableUser(id)
  },
}

for (const [what, end] of Object.entries(enders)) {
  test(`${what} during refreshes ends all sessions`, async ({ sql }) => {
    await raceBothWays(async (index) => {
      const user = await newAccount(sql, 3, 1)
      const { refresh, given } = servers.client()
      return {
        contenders: [...user.sessions, user.sessions[0]!].map(
          (session) => () => refresh(session.refreshToken),
        ),
        end: () => end(user, index),
        check: () => checkEnded(servers, sql, user, given, presents(index)),
      }
    })
  })

  test(`${what} during exchanges with an older session cookie ends all sessions of this user only`, async ({
    sql,
  }) => {
    await raceBothWays(async (index) => {
      const [user, other] = [await newAccount(sql, 2, 5), await newAccount(sql, 2, 1)]
      const [own, others] = [servers.client(), servers.client()]
      let hasEndedOther = false
      return {
        contenders: [
          async () =>
            (hasEndedOther = await own.exchange(user.codes[1]!, other.sessions[0])),
          () => own.exchange(user.codes[2]!, user.sessions[0]),
          () => own.exchange(user.codes[3]!, user.sessions[0]),
          async () => {
            const crossing = others.exchange(other.codes[0]!, user.sessions[1])
            const success = await own.exchange(user.codes[4]!, user.sessions[1])
            return (await crossing) && success
          },
        ],
        end: () => end(user, index),
        check: async () => {
          await checkEnded(servers, sql, user, own.given, presents(index))
          const [{ count } = { count: 0 }] = await sql(
            `SELECT count(*)::int FROM sessions WHERE user_id = $1 AND revoked_at IS NULL`,
            [other.id],
          )
          if (others.given.length !== 1 || count !== (hasEndedOther ? 2 : 3))
            throw new Error(`${count} sessions of the other user are live`)
        },
      }
    })
  })
}
