import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Visitor } from '../support/browsers/sso-visitor'
import { startBreakablePostgres } from '../support/databases/breakable-postgres'
import { insertConnection } from '../support/databases/connection'
import { exchangePath, expect, postTo, test } from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { newAddress } from '../support/secrets'
import { freePort, startServer } from '../support/servers/server'

const signInCount = 100

test('when PostgreSQL restarts, no sign-in starts two sessions, and no session starts without a sign-in', async () => {
  const postgres = await startBreakablePostgres()
  const provider = await startProvider({
    // a new person at each sign-in
    claims: (genuine) => {
      const sub = randomBytes(8).toString('hex')
      return { ...genuine, sub, email: `${sub}@login.example` }
    },
  })
  const PUBLIC_URL = `http://localhost:${await freePort()}` // both servers have the same origin, as behind a proxy
  const servers = await Promise.all(
    [1, 2].map(() =>
      startServer({ DATABASE_URL: postgres.url, PUBLIC_URL, LOG_LEVEL: 'error' }),
    ),
  )
  await insertConnection(postgres.sql, 'acme', 'login.example', provider)

  const codesOfState = new Map<string, number>()
  const errors: Record<string, number> = {}
  let successes = 0
  /**
   * Signs in once. Starts at one server, opens the callback at both concurrently, and
   * exchanges the code at one.
   */
  const signIn = async (): Promise<boolean> => {
    const visitor = new Visitor(servers[successes % 2]!.url)
    const authorization = await visitor.start('acme')
    const state = authorization.searchParams.get('state')
    if (!state) return failed(authorization)
    const { pathname, search } = await visitor.authorize(authorization)
    const landings = await Promise.all(
      servers.map(({ url }) => visitor.open(new URL(pathname + search, url).href)),
    )
    const codes = landings.flatMap((landing) => landing.searchParams.get('code') ?? [])
    codesOfState.set(state, (codesOfState.get(state) ?? 0) + codes.length)
    if (codes.length === 0) return failed(landings[0]!)
    const cookie = {
      'X-Forwarded-For': newAddress(),
      Cookie: `browser=${visitor.cookies.get('browser')}`,
    }
    for (let attempt = 0; attempt < 20; attempt++) {
      const { status } = await postTo(
        servers[attempt % 2]!.url + exchangePath,
        { code: codes[0] },
        cookie,
      )
      if (status !== 503) return status === 200
      await sleep(250)
    }
    return false
  }
  const failed = ({ searchParams }: URL) => {
    const error = searchParams.get('error')!
    errors[error] = (errors[error] ?? 0) + 1
    return false
  }
  const events: Record<number, () => Promise<unknown>> = {
    20: () => postgres.restartAfter(postgres.kill),
    45: () => postgres.restartAfter(postgres.shutDown),
    70: () => postgres.restartAfter(postgres.kill),
  }
  let event: Promise<unknown> = Promise.resolve()
  const client = async () => {
    while (successes < signInCount) {
      if (!(await signIn())) await sleep(250)
      else event = event.then(events[++successes])
    }
  }
  await Promise.all(Array.from({ length: 25 }, client))
  await event
  console.log(`${successes} sign-ins, errors: ${JSON.stringify(errors)}`)

  expect(Math.max(...codesOfState.values())).toBe(1)
  // PostgreSQL was unavailable for some sign-ins
  expect(errors.unavailable).toBeGreaterThan(0)
  const [counts] = await postgres.sql(`
    SELECT (SELECT count(*) FROM sessions)::int AS sessions,
      (SELECT count(*) FROM exchange_codes WHERE used_at IS NOT NULL)::int AS "usedCodes",
      (SELECT count(*) FROM exchange_codes)::int <= (SELECT count(*) FROM sso_attempts WHERE claimed_at IS NOT NULL)::int
        AS "hasAttempts",
      (SELECT count(*) FROM exchange_codes AS code WHERE NOT EXISTS (
        SELECT FROM sso_attempts WHERE browser_hash = code.browser_hash AND claimed_at IS NOT NULL))::int AS "withoutAttempt",
      (SELECT count(*) FROM users)::int - (SELECT count(*) FROM identities)::int AS "usersWithoutIdentity"`)
  expect(counts).toEqual({
    sessions: counts!.usedCodes,
    usedCodes: counts!.usedCodes,
    hasAttempts: true,
    withoutAttempt: 0,
    usersWithoutIdentity: 0,
  })
  expect(counts!.sessions).toBeGreaterThanOrEqual(signInCount)
  await Promise.all(servers.map((server) => server.stop()))
  await provider.stop()
  await postgres.stop()
})
