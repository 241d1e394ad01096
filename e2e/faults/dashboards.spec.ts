import { randomUUID } from 'node:crypto'
import { listClients, removeClient, setDisabled } from '../../lib/client/manage'
import * as routes from '../../lib/contract/routes'
import {
  disableConnection,
  enableConnection,
  listConnections,
} from '../../lib/sso/manage/connections'
import { disableUser, enableUser } from '../../lib/user/user'
import {
  addClient,
  type ClientCode,
  clientCode,
  dashboards,
  exchangeClientCode,
  renewTokens,
  secretOf,
  type TokenResponse,
  tokensOf,
} from '../support/browsers/dashboard'
import { type Account, newAccount, type Tokens } from '../support/databases/account'
import { race, rounds } from '../support/databases/race'
import { expect, type Sql, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

// the number of rounds is fixed, so a slow machine needs time
test.describe.configure({ timeout: 600_000 })

/** At least 40, because most of these faults show only in some rounds. */
const roundsEach = Math.max(40, rounds)

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers()
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01), for which the client would get a 503
})
test.afterAll(() => servers.stop())

test('10 concurrent exchanges of one code start only one session', async ({
  sql,
  url,
}) => {
  for (let round = 0; round < roundsEach; round++) {
    const [browser] = (await newAccount(sql, 1, 0)).sessions
    const issued = (await clientCode(url, browser!))!
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => exchangeClientCode(servers.nextUrl(), issued)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array(9).fill(400),
    ])
    const children = await sql('SELECT revoked_at FROM sessions WHERE parent_id = $1', [
      browser!.id,
    ])
    expect(children).toEqual([{ revoked_at: null }])
  }
})

test('20 concurrent exchanges of one browser’s codes leave one session of the dashboard', async ({
  sql,
  url,
}) => {
  for (let round = 0; round < roundsEach; round++) {
    const [browser] = (await newAccount(sql, 1, 0)).sessions
    const issued = await Promise.all(
      Array.from({ length: 20 }, async () => (await clientCode(url, browser!))!),
    )
    const responses = await Promise.all(
      issued.map((code) => exchangeClientCode(servers.nextUrl(), code)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await servers.alive(responses.map(tokensOf))).toHaveLength(1)
  }
})

/** A user who is signed in through a connection, and a client of its own. */
type Scene = {
  user: Account
  browser: Account['sessions'][number]
  connectionSlug: string
  connectionId: string
  slug: string
}

async function newScene(sql: Sql): Promise<Scene> {
  const slug = `client-${randomUUID()}`
  const connectionSlug = randomUUID()
  await addClient(sql, slug, [dashboards.app])
  const user = await newAccount(sql, 1, 0)
  const [connection] = await sql(
    `WITH connection AS (
       INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Acme', 'oidc', $3) RETURNING id
     ), identity AS (
       INSERT INTO identities (connection_id, issuer, subject, user_id)
       SELECT id, 'https://idp.example.com', 'ada', $2 FROM connection
     )
     UPDATE sessions SET connection_id = connection.id FROM connection WHERE user_id = $2
     RETURNING connection_id AS id`,
    [connectionSlug, user.id, { issuer: 'https://idp.example.com', clientId: 'x' }],
  )
  const [browser] = user.sessions
  return {
    ...{ user, browser: browser!, slug },
    ...{ connectionSlug, connectionId: connection!.id },
  }
}

type Ending = {
  end: (scene: Scene, asker: Asker) => Promise<unknown>
  /** The only requests that must not get a session afterwards. */
  only?: keyof typeof contenders
  /** Enables what was disabled, so that nothing is rejected only for that reason. */
  undo?: (scene: Scene, sql: Sql) => Promise<unknown>
  /** What else has ended. A sign-out leaves the rows of the children, without a parent. */
  ends: 'browser' | 'all rows' | 'nothing else'
  /** Whether the sessions continue after `undo`. */
  isPause?: true
}

const findRegistered = async (slug: string) => (await listClients(slug))[0]!

/** Ways to end the sessions of a dashboard. */
const endings: Record<string, Ending> = {
  'a sign-out of the browser': {
    end: ({ browser }) => servers.signOut(browser),
    ends: 'browser',
  },
  'a sign-out at the end-session endpoint': {
    end: ({ browser }) =>
      fetch(servers.nextUrl() + routes.signOutForClient.path, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          Cookie: `refresh=${browser.refreshToken}`,
          'Sec-Fetch-Site': 'same-origin',
          'X-Forwarded-For': newAddress(),
        },
        body: new URLSearchParams({ confirmed: 'true' }),
      }),
    ends: 'browser',
  },
  // an exchange may start another session of the client
  'a revocation': {
    end: ({ slug }, { given }) => {
      const { refreshToken } = given[0]!
      const form = { token: refreshToken, client_id: slug, client_secret: secretOf(slug) }
      return fetch(servers.nextUrl() + routes.revokeToken.path, {
        method: 'POST',
        headers: { 'X-Forwarded-For': newAddress() },
        body: new URLSearchParams(form),
      })
    },
    only: 'refreshes',
    ends: 'nothing else',
  },
  'a reset': {
    end: ({ user }) => servers.reset(user),
    ends: 'all rows',
  },
  'disabling the user': {
    end: ({ user }) => disableUser(user.id),
    undo: ({ user }) => enableUser(user.id),
    ends: 'all rows',
  },
  'disabling the connection': {
    end: ({ connectionId }) => disableConnection({ id: connectionId }),
    undo: async ({ connectionSlug }) => {
      const [connection] = await listConnections(connectionSlug)
      await enableConnection(connection!)
    },
    ends: 'all rows',
  },
  'disabling the client': {
    end: async ({ slug }) => setDisabled(await findRegistered(slug), true),
    undo: async ({ slug }) => setDisabled(await findRegistered(slug), false),
    ends: 'nothing else',
    isPause: true,
  },
  'removing the client': {
    end: async ({ slug }) => removeClient(await findRegistered(slug)),
    // with the same secret
    undo: ({ slug }, sql) => addClient(sql, slug, [dashboards.app]),
    ends: 'nothing else',
  },
}

/** Sends the token requests of one round, and keeps what they get. */
function newAsker(scene: Scene, url: string) {
  const given: Tokens[] = []
  const codes: ClientCode[] = []
  let hasEnded = false

  /** Returns whether a token request succeeded. It must not if it began after the end. */
  const ask = async (request: () => Promise<TokenResponse>) => {
    const isLate = hasEnded
    const response = await request()

    if (response.status !== 200) {
      const { status, body } = response
      expect(['400 invalid_grant', '401 invalid_client']).toContain(
        `${status} ${body.error}`,
      )
      return false
    }

    given.push(tokensOf(response))
    if (isLate) throw new Error('a request that began after the end got tokens')

    return true
  }

  const exchange = (code: ClientCode) =>
    ask(() => exchangeClientCode(servers.nextUrl(), code))

  return {
    given,
    markEnd: () => {
      hasEnded = true
    },
    exchange,
    renew: (refreshToken: string) =>
      ask(() => renewTokens(servers.nextUrl(), refreshToken, scene.slug)),
    /** Gets a code and exchanges it, as a visit of the dashboard does. */
    open: async () => {
      const code = await clientCode(url, scene.browser, scene.slug)
      if (code) codes.push(code)
      return code !== null && exchange(code)
    },
    /** Exchanges all codes, used and unused. */
    exchangeAll: async () => {
      for (const code of codes) await exchange(code)
    },
    /** Gets a code for later. */
    keepCode: async () => {
      const code = (await clientCode(url, scene.browser, scene.slug))!
      codes.push(code)
      return code
    },
  }
}

type Asker = ReturnType<typeof newAsker>

/** Throws if a dashboard still has a session, or gets another one. */
async function checkNothingLives(
  scene: Scene,
  asker: Asker,
  { ends }: Ending,
  sql: Sql,
): Promise<void> {
  const live = await servers.alive([scene.browser, ...asker.given])
  expect(live).toEqual(ends === 'nothing else' ? [scene.browser] : [])

  const unended = 'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
  if (ends === 'all rows') expect(await sql(unended, [scene.user.id])).toEqual([])

  // throws if a code gets tokens
  await asker.exchangeAll()
}

/** Prepares four token requests, which race against the end. */
const contenders = {
  exchanges: async ({ open, keepCode, exchange }: Asker) => {
    const codes = [await keepCode(), await keepCode()]
    return [open, open, ...codes.map((code) => () => exchange(code))]
  },
  refreshes: async ({ open, given, renew }: Asker) => {
    await open()
    const { refreshToken } = given[0]!
    return Array.from({ length: 4 }, () => () => renew(refreshToken))
  },
}

for (const [what, ending] of Object.entries(endings))
  for (const [kind, prepareRequests] of Object.entries(contenders)) {
    if (ending.only && ending.only !== kind) continue

    test(`${what} during ${kind} leaves no session of a dashboard`, async ({
      sql,
      url,
    }) => {
      const { all, some, none } = await race(async () => {
        const scene = await newScene(sql)
        const asker = newAsker(scene, url)
        const requests = await prepareRequests(asker)
        if (!ending.only) await asker.keepCode()
        return {
          contenders: requests,
          end: async () => {
            await ending.end(scene, asker)
            asker.markEnd()
            await Promise.all([requests[0]!(), asker.exchangeAll()])
          },
          check: async () => {
            await checkNothingLives(scene, asker, ending, sql)
            await ending.undo?.(scene, sql)
            if (!ending.isPause) await checkNothingLives(scene, asker, ending, sql)
          },
        }
      }, roundsEach)
      console.log(
        `of ${roundsEach} rounds, all contenders succeeded in ${all}, some in ${some}, none in ${none}`,
      )
      expect(Math.min(all, none) + some).toBeGreaterThanOrEqual(roundsEach / 10)
    })
  }
