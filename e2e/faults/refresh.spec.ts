import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { refreshGraceSeconds } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { makeRefreshToken, readRefreshToken } from '../../lib/session/tokens'
import { newAccount } from '../support/databases/account'
import { startBreakablePostgres } from '../support/databases/breakable-postgres'
import { rounds } from '../support/databases/race'
import { UndocumentedResponse } from '../support/documents/documented'
import { expect, postTo, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { startServer } from '../support/servers/server'
import { startTwoServers } from '../support/servers/two-servers'

// the number of rounds is fixed, so a slow machine needs time
test.describe.configure({ timeout: 600_000 })

const refreshPath = routes.refreshSession.path
const atOnce = 10

/** Returns how often each value occurs. */
function countEach(values: unknown[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}

test('10 concurrent refreshes with one token rotate it once, and a later refresh counts as reuse', async ({
  sql,
}) => {
  const servers = await startTwoServers()
  const refreshAtOnce = async (tokens: string[]) => {
    const responses = await Promise.all(
      tokens.map((refreshToken) => servers.post(refreshPath, { refreshToken })),
    )
    return {
      responses,
      outcomes: countEach(responses.map(({ status, body }) => body.code ?? status)),
    }
  }
  const ended: string[] = []
  for (let round = 0; round < rounds; round++) {
    const [session] = (await newAccount(sql, 1, 0)).sessions
    const sessionId = session!.id
    const stateOf = async () =>
      (
        await sql(
          'SELECT generation, revoked_at IS NOT NULL AS revoked FROM sessions WHERE id = $1',
          [sessionId],
        )
      )[0]
    const age = (seconds: number) =>
      sql(
        'UPDATE sessions SET rotated_at = now() - make_interval(secs => $2) WHERE id = $1',
        [sessionId, seconds],
      )
    const tokenOf = (generation: number) =>
      keepSecret(makeRefreshToken({ sessionId, generation }))

    const generation = round % 3 // in generation 0, the token was never rotated
    await sql('UPDATE sessions SET generation = $2 WHERE id = $1', [
      sessionId,
      generation,
    ])
    if (generation > 0) await age(refreshGraceSeconds)
    const presented = tokenOf(generation)
    // Later generations are rejected, but are no reuse, because a restored database can
    // be older than they are.
    const crowd = [
      ...Array<string>(atOnce).fill(presented),
      tokenOf(generation + 2),
      tokenOf(generation + 9),
    ]
    const within = await refreshAtOnce(crowd)
    expect(within.outcomes).toEqual({ 200: atOnce, REFRESH_INVALID: 2 })
    const given = within.responses.map(({ body }) => body.refreshToken).filter(Boolean)
    expect(countEach(given)).toEqual({ [tokenOf(generation + 1)]: atOnce })
    expect(await stateOf()).toEqual({ generation: generation + 1, revoked: false })

    await age(refreshGraceSeconds)
    const after = await refreshAtOnce(Array(atOnce).fill(presented))
    expect(after.outcomes).toEqual({ REFRESH_INVALID: atOnce })
    expect(await stateOf()).toEqual({ generation: generation + 1, revoked: true })
    expect((await refreshAtOnce([given[0]!])).outcomes).toEqual({ REFRESH_INVALID: 1 })
    ended.push(sessionId)
  }
  await servers.stop()
  const warnings = servers.logged('warn')
  expect(countEach(warnings.map(({ msg }) => msg))).toEqual({
    'a refresh token was reused: its session was revoked': rounds,
  })
  expect(warnings.map(({ sessionId }) => sessionId).sort()).toEqual(ended.sort())
  expect(servers.logged('error')).toEqual([])
})

type Outcome = 200 | 400 | 503 | 'cut off'

/** A client that refreshes its own session, and retries with its current token. */
class Chain {
  readonly id = randomUUID()
  held = keepSecret(makeRefreshToken({ sessionId: this.id, generation: 0 }))
  isSignedOut = false
  /** Whether the response to a rotation may have been lost. */
  isDoubtful = false
  /** The returned tokens for each presented generation. */
  readonly returned = new Map<number, Set<string>>()

  async refresh(url: string): Promise<Outcome> {
    const headers = { 'X-Forwarded-For': newAddress() }
    const response = await postTo(
      url + refreshPath,
      { refreshToken: this.held },
      headers,
    ).catch((error) => {
      if (error instanceof UndocumentedResponse) throw error
    })
    if (!response || response.body.outcome === 'unknown') this.isDoubtful = true
    if (!response) return 'cut off'
    const { status, body } = response
    if (status === 200) this.hold(body.refreshToken!)
    else if (status === 400 && body.code === 'REFRESH_INVALID') {
      // This means that a rotation was lost, or took place although a 503 reported no
      // change.
      if (!this.isDoubtful) throw new Error('the token that was given last was rejected')
      this.isSignedOut = true
    } else if (status !== 503)
      throw new Error(`unexpected response: ${status} ${body.code}`)
    return status as Outcome
  }

  private hold(token: string): void {
    const { generation } = readRefreshToken(this.held)!
    this.returned.set(generation, (this.returned.get(generation) ?? new Set()).add(token))
    this.held = token
    this.isDoubtful = false
  }
}

test('if PostgreSQL and a server are killed, only clients that lost a response lose their session', async () => {
  const postgres = await startBreakablePostgres()
  const settings = { DATABASE_URL: postgres.url }
  const servers = await Promise.all([startServer(settings), startServer(settings)])
  const chains = Array.from({ length: 30 }, () => new Chain())
  await postgres.sql(
    `WITH owner AS (INSERT INTO users (email, email_domain) VALUES ('owner@example.com', 'example.com') RETURNING id)
     INSERT INTO sessions (id, user_id, expires_at) SELECT unnest($1::uuid[]), id, now() + interval '7 days' FROM owner`,
    [chains.map(({ id }) => id)],
  )

  /**
   * Ends the grace period of some sessions, so that they rotate. In others, a lost
   * response can still be repeated.
   */
  const age = (share: number) =>
    postgres.sql(
      `UPDATE sessions SET rotated_at = rotated_at - interval '11 seconds' WHERE random() < $1`,
      [share],
    )
  const restart = async (stop: () => unknown) => {
    await age(1) // so that rotations are in progress during the stop
    await postgres.restartAfter(stop)
  }
  const events: Record<number, () => Promise<unknown>> = {
    150: () => restart(postgres.kill),
    300: async () => {
      const { url, process } = servers[1]!
      await age(1)
      process.kill('SIGKILL')
      await sleep(500)
      servers[1] = await startServer({ ...settings, PORT: new URL(url).port })
    },
    450: () => restart(postgres.kill),
    600: () => restart(postgres.shutDown),
  }
  const outcomes: Outcome[] = []
  let turn = 0
  let successes = 0
  let event: Promise<unknown> = Promise.resolve()
  const client = async (chain: Chain) => {
    while (successes < 750 && !chain.isSignedOut) {
      const outcome = await chain.refresh(servers[turn++ % 2]!.url)
      outcomes.push(outcome)
      if (outcome !== 200)
        await sleep(250) // a client would wait for Retry-After, but the test waits less
      else if (++successes % 25 === 0)
        event = event.then(events[successes] ?? (() => age(1 / 3)))
    }
  }
  await Promise.all(chains.map(client))
  await event

  for (const chain of chains)
    if (!chain.isSignedOut) outcomes.push(await chain.refresh(servers[0]!.url))
  const counts = countEach(outcomes)
  const rows = await postgres.sql(
    'SELECT id, generation, revoked_at IS NOT NULL AS revoked FROM sessions',
  )
  const rotations = rows.reduce((sum, { generation }) => sum + generation, 0)
  console.log(`${JSON.stringify(counts)}, ${rotations} rotations`)
  for (const { id, held, isSignedOut, returned } of chains) {
    const { generation, revoked } = rows.find((row) => row.id === id)!
    expect(revoked).toBe(isSignedOut)
    if (!revoked) expect(readRefreshToken(held)!.generation).toBe(generation)
    for (const [presented, tokens] of returned) {
      const generations = [...tokens]
        .map((token) => readRefreshToken(token)!.generation)
        .sort((a, b) => a - b)
      // the same token in the grace period, its only successor, or first the same token
      // and then the successor
      expect([[presented], [presented + 1], [presented, presented + 1]]).toContainEqual(
        generations,
      )
    }
  }
  expect(successes).toBeGreaterThanOrEqual(750)
  expect(counts[503]).toBeGreaterThan(0)
  expect(counts['cut off']).toBeGreaterThan(0)
  expect(rotations).toBeGreaterThan(90)
  await Promise.all(servers.map((server) => server.stop()))
  await postgres.stop()
})
