import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import * as routes from '../../lib/contract/routes'
import { findConnection } from '../../lib/sso/connection'
import { findOrLinkUser } from '../../lib/sso/identity'
import { activateDomains } from '../../lib/sso/manage/activate'
import { clientCode, exchangeClientCode } from '../support/browsers/dashboard'
import {
  type Directory,
  deactivation,
  newPerson,
  openDirectory,
} from '../support/clients/directory'
import { newAccount } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import { race } from '../support/databases/race'
import { expect, newPassword, type Sql, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { startRedis, type TestRedis } from '../support/servers/redis'
import { type Server, startServer } from '../support/servers/server'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'
import { startUpstash } from '../support/servers/upstash'

// Requests of directories at the same time as sign-ins and commands, and their limit in
// Redis.

const rounds = 40
const settings = { SCIM: 'true', PASSWORD_SIGN_IN: 'true' }

test.describe('races', () => {
  let servers: TwoServers
  test.beforeAll(async () => {
    servers = await startTwoServers(undefined, settings)
  })
  test.afterEach(() => {
    expect(servers.logged('error')).toEqual([]) // no deadlock (40P01)
  })
  test.afterAll(() => servers.stop())

  /** Returns an account in the directory, which may use a password. */
  async function newMember(sql: Sql, { domain, send }: Directory) {
    const account = await newAccount(sql, 1, 1)
    const [name, password] = [randomUUID(), newPassword()]
    const email = `${name}@${domain}`
    await sql(
      'UPDATE users SET email = $1, email_domain = $2, password_hash = $3 WHERE id = $4',
      [email, domain, await bcrypt.hash(password, 4), account.id],
    )
    expect((await send('POST', '/Users', newPerson(domain, name))).status).toBe(201)
    return { ...account, email, password }
  }

  test('active: false leaves no live session of a concurrent exchange, refresh, token or sign-in', async ({
    sql,
  }) => {
    const directory = await openDirectory(servers.nextUrl, { allowPasswords: true })
    const tally = await race(async () => {
      const { id, email, password, sessions, codes } = await newMember(sql, directory)
      const [session] = sessions
      const { exchange, refresh } = servers.client()
      const ofClient = await clientCode(servers.nextUrl(), session!)
      const { send } = directory
      return {
        contenders: [
          () => exchange(codes[0]!),
          () => refresh(session!.refreshToken),
          async () =>
            (await exchangeClientCode(servers.nextUrl(), ofClient!)).status === 200,
          async () =>
            (await servers.post(routes.signIn.path, { email, password })).status === 200,
        ],
        end: async () => {
          const { status } = await send('PATCH', `/Users/${id}`, deactivation)
          if (status !== 200) throw new Error(`the directory got ${status}`)
        },
        check: async () => {
          const live = `SELECT FROM sessions WHERE user_id = $1 AND revoked_at IS NULL
            UNION ALL SELECT FROM users WHERE id = $1 AND disabled_at IS NULL`
          expect(await sql(live, [id])).toEqual([])
        },
      }
    }, rounds)
    console.log(`in ${tally.all} rounds, all succeeded, in ${tally.some} some`)
    expect(tally.all + tally.some + tally.none).toBe(rounds)
    expect(Math.min(tally.all, tally.none) + tally.some).toBeGreaterThanOrEqual(4)
  })

  test('a POST and a first sign-in with --provision create one user', async ({ sql }) => {
    const { connection, domain, send } = await openDirectory(servers.nextUrl, {
      provision: true,
    })
    const stored = (await findConnection(connection.slug))!
    for (let round = 0; round < rounds; round++) {
      const name = randomUUID()
      const email = `${name}@${domain}`
      const identity = { issuer: stored.settings.issuer, subject: name }
      const [userId, added] = await Promise.all([
        findOrLinkUser(stored, identity, async () => ({ email, isVerified: true })),
        send('POST', '/Users', newPerson(domain, name)),
      ])
      expect([added.status, added.body.id]).toEqual([201, userId])
      expect(await sql('SELECT FROM users WHERE email = $1', [email])).toHaveLength(1)
    }
  })

  test('two POSTs of one person add one user, and the other gets 409', async ({
    sql,
  }) => {
    const { domain, send, connection } = await openDirectory(servers.nextUrl)
    for (let round = 0; round < rounds; round++) {
      const person = newPerson(domain)
      const other = { ...newPerson(domain), userName: person.userName.toUpperCase() }
      const second = round % 2 ? person : other
      const responses = await Promise.all([
        send('POST', '/Users', person),
        send('POST', '/Users', second),
      ])
      expect(responses.map(({ status }) => status).sort()).toEqual([201, 409])
    }
    const added = 'SELECT FROM scim_users WHERE connection_id = $1'
    expect(await sql(added, [connection.id])).toHaveLength(rounds)
    // the user of a rejected request was not created
    const users = 'SELECT FROM users WHERE email_domain = $1'
    expect(await sql(users, [domain])).toHaveLength(rounds)
  })

  test('when a domain moves to another connection, its former directory changes nothing more', async ({
    sql,
  }) => {
    const tally = await race(async () => {
      const { connection, domain, send } = await openDirectory(servers.nextUrl)
      const { body } = await send('POST', '/Users', newPerson(domain))
      const beside = { activate: false, beside: connection.slug }
      const next = await addTestConnection(domain, beside)
      const path = `/Users/${body.id}`
      let changed = 0
      return {
        contenders: [
          async () => {
            changed = (await send('PATCH', path, deactivation)).status
            return changed === 200
          },
        ],
        end: () => activateDomains(next, { from: connection.slug }),
        check: async () => {
          const [user] = await sql('SELECT disabled_by FROM users WHERE id = $1', [
            body.id,
          ])
          expect(user).toEqual({ disabled_by: changed === 200 ? connection.id : null })
          expect([200, 404]).toContain(changed)
          for (const method of ['GET', 'DELETE'])
            expect((await send(method, path)).status).toBe(404)
        },
      }
    }, rounds)
    console.log(`the directory was first in ${tally.all} rounds`)
    expect(tally.all + tally.none).toBe(rounds)
  })
})

for (const [name, start] of Object.entries({
  'plain Redis': startRedis,
  Upstash: startUpstash,
}))
  test.describe(name, () => {
    let redis: TestRedis
    let servers: Server[]
    test.beforeAll(async () => {
      redis = await start()
      // the clocks are set to one second after the start of a window
      const shift = 1 - ((Date.now() / 1000) % 60)
      const more = {
        ...preload('shifted-clock.mjs'),
        CLOCK_SHIFT_SECONDS: String(shift),
        ...settings,
        ...redis.settings,
      }
      servers = await Promise.all([startServer(more), startServer(more)])
    })
    test.afterAll(async () => {
      await Promise.all(servers.map((server) => server.stop()))
      await redis.stop()
    })

    test('two processes share the limit of a token', async () => {
      let turn = 0
      const { send } = await openDirectory(() => servers[turn++ % 2]!.url)
      const address = { 'X-Forwarded-For': newAddress() }
      const get = () => send('GET', '/ServiceProviderConfig', undefined, address)
      const remaining = (response: { headers: Headers }) =>
        Number(/^"scim";r=(\d+);/.exec(response.headers.get('ratelimit')!)?.[1])

      // the first request of a process may exceed the time limit for Redis
      await expect
        .poll(async () => [remaining(await get()), remaining(await get())].join())
        .toMatch(/^149\d,149\d$/)
      const keys = await redis.client.keys('platform-limit*')
      const counts = await redis.client.mget(keys)
      const key = keys[counts.findIndex((count) => Number(count) > 1)]!
      await redis.client.set(key, 1_498, 'KEEPTTL')

      const responses = [await get(), await get(), await get(), await get()]
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 429])
      expect(responses.map(remaining)).toEqual([1, 0, 0, 0])
      expect(Number(responses[3]!.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    })
  })
