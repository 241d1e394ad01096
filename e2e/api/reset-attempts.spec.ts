import { availableParallelism } from 'node:os'
import bcrypt from 'bcryptjs'
import { documentedFetch } from '../support/documented'
import { eventLoopDuring, withEventLoopProbe } from '../support/event-loop'
import {
  type ApiResponse,
  expect,
  newAddress,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { flood } from '../support/flood'
import { type Server, startServer } from '../support/server'

const maxAttempts = 30
const worstPassword = 'P4$$w0rd'.repeat(9) // 72 bytes; most characters have several spellings to check
const weakPassword = 'password1'
const hashesAtOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))

const times = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const attemptAt = ({ url }: { url: string }, token: string, password: string) =>
  postTo(url + resetPath, { token, password }, { 'X-Forwarded-For': newAddress() })
const send = ({ url }: { url: string }, body: object) =>
  documentedFetch(url + resetPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: JSON.stringify(body),
  })
const codesOf = (responses: ApiResponse[]) => responses.map(({ status, body }) => body.issues?.[0]?.code ?? status)
const countOf = (responses: ApiResponse[], code: string | number) =>
  codesOf(responses).filter((found) => found === code).length
const attemptsOf = async (sql: Sql, user: User) =>
  (await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [user.id]))[0]!.attempts as number
const newUsers = async (sql: Sql, count: number) =>
  (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, $1) RETURNING id, email`,
    [count],
  )) as User[]

test.describe('on a server of its own', () => {
  let server: Server
  test.beforeAll(async ({ sql }) => {
    server = await startServer(withEventLoopProbe)
    const [user] = await newUsers(sql, 1) // the first check and the first hash also load their modules
    const token = await newToken(user!)
    for (const password of [worstPassword, worstPassword, newPassword()]) await attemptAt(server, token, password)
  })
  test.afterAll(() => server.stop())
  test.describe.configure({ mode: 'default' }) // one after the other, because each measures the process

  test('a flood of the slowest passwords blocks the event loop for one check at a time', async ({ sql }) => {
    const control: number[] = []
    const flooded: number[] = []
    for (let round = 0; round < 3; round++) {
      const tokens = await Promise.all((await newUsers(sql, 12)).map(newToken))
      const sendMany = (tokenOf: (index: number) => string) =>
        flood(60, (index) => send(server, { token: tokenOf(index), password: worstPassword }), 24)
      control.push((await eventLoopDuring(server, () => sendMany(() => 'fabricated'))).longestTurnMs)
      const reading = await eventLoopDuring(server, async () => {
        const responses = await sendMany((index) => tokens[index % tokens.length]!)
        expect(responses.filter(({ status }) => status === 400)).toHaveLength(60)
      })
      flooded.push(reading.longestTurnMs)
    }
    // The best round, because any round may include a garbage collection.
    expect(Math.min(...flooded) - Math.min(...control), JSON.stringify({ control, flooded })).toBeLessThan(50)
  })

  test('72 characters cost no more than 36', async ({ user }) => {
    const cpuOf = async (password: string) => {
      const token = await newToken(user)
      const { cpuMs } = await eventLoopDuring(server, async () => {
        for (let count = 0; count < 20; count++)
          expect(codesOf([await attemptAt(server, token, password)])).toEqual(['too_guessable'])
      })
      return cpuMs
    }
    await cpuOf(worstPassword)
    const [short, long] = [await cpuOf(worstPassword.slice(0, 36)), await cpuOf(worstPassword)]
    expect(long / short).toBeLessThan(1.5)
  })

  test('attempts that wait for a successful one cost neither a check nor a hash', async ({ sql }) => {
    const [one, many] = await newUsers(sql, 2)
    const [token, contested] = [await newToken(one!), await newToken(many!)]
    const single = await eventLoopDuring(server, async () => {
      expect((await attemptAt(server, token, newPassword())).status).toBe(200)
    })
    const twenty = await eventLoopDuring(server, async () => {
      const responses = await times(20, () => attemptAt(server, contested, newPassword()))
      expect([countOf(responses, 200), countOf(responses, 'invalid_or_expired')]).toEqual([1, 19])
    })
    expect(twenty.cpuMs / single.cpuMs).toBeLessThan(4)
  })

  test('hundreds of requests with one token are limited to 30 attempts, and do not delay another reset', async ({
    user,
    sql,
  }) => {
    const [victim, ...others] = await newUsers(sql, 1 + 20 * hashesAtOnce)
    const [token, password, victimToken] = [await newToken(user), newPassword(), await newToken(victim!)]
    const otherTokens = await Promise.all(others.map(newToken))
    // Their hashes take longer than the arrival of all requests, so that the queue decides the order.
    const ahead = times(others.length, (index) => attemptAt(server, otherTokens[index]!, newPassword()))
    let checked = 0
    const flooding = times(300, async () => {
      const response = await attemptAt(server, token, worstPassword)
      checked += countOf([response], 'too_guessable')
      return response
    })
    const served = await attemptAt(server, victimToken, password)
    const checkedBefore = checked
    expect(countOf(await ahead, 200)).toBe(others.length)
    const responses = await flooding
    expect(served.status).toBe(200)
    expect(countOf(responses, 'too_guessable')).toBe(maxAttempts)
    expect(countOf(responses, 'invalid_or_expired')).toBe(300 - maxAttempts)
    expect(await attemptsOf(sql, user)).toBe(maxAttempts)
    expect(checkedBefore).toBeLessThan(maxAttempts) // the other reset did not wait for all of them
    const [{ password_hash: hash }] = (await sql('SELECT password_hash FROM users WHERE id = $1', [victim!.id])) as [
      { password_hash: string },
    ]
    expect(await bcrypt.compare(password, hash)).toBe(true)
  })

  test('a full queue costs no attempt, and a fabricated token takes no place in it', async ({ user, sql }) => {
    const users = await newUsers(sql, 24 * hashesAtOnce + 12)
    const tokens = await times(users.length, (index) => newToken(users[index]!))
    const flooding = times(tokens.length, (index) => attemptAt(server, tokens[index]!, newPassword()))
    const token = await newToken(user)
    await expect.poll(async () => (await attemptAt(server, token, weakPassword)).status, { intervals: [20] }).toBe(503)
    expect(codesOf([await attemptAt(server, 'fabricated', newPassword())])).toEqual(['invalid_or_expired'])
    const responses = await flooding
    const rejected = users.filter((_, index) => responses[index]!.status === 503)
    expect(rejected.length).toBeGreaterThan(0)
    for (const other of rejected) expect(await attemptsOf(sql, other)).toBe(0)
  })
})

test('after 30 weak passwords the link is invalid, and a new one has 30 attempts again', async ({
  user,
  post,
  sql,
}) => {
  const attempt = async (token: string, password: string) => codesOf([await post(resetPath, { token, password })])[0]
  const token = await newToken(user)
  for (let count = 1; count <= maxAttempts; count++) {
    expect(await attempt(token, weakPassword)).toBe('too_guessable')
    expect(await attemptsOf(sql, user)).toBe(count)
  }
  expect(await attempt(token, newPassword())).toBe('invalid_or_expired')
  expect(await attempt(token, 'short')).toBe('invalid_or_expired')
  const spent = await post(resetPath, { token, password: newPassword() }, { 'X-Request-Id': 'the-same-for-both' })
  const unknown = await post(
    resetPath,
    { token: 'unknown', password: newPassword() },
    { 'X-Request-Id': 'the-same-for-both' },
  )
  expect(spent.body).toEqual(unknown.body)
  expect(await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])).toEqual([{ password_hash: null }])

  const renewed = await newToken(user)
  expect(await attemptsOf(sql, user)).toBe(0)
  expect(await attempt(renewed, newPassword())).toBe(200)
})

test('the thirtieth attempt may succeed', async ({ user, post, sql }) => {
  const token = await newToken(user)
  await sql('UPDATE reset_tokens SET attempts = $1 WHERE user_id = $2', [maxAttempts - 1, user.id])
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
  expect(await attemptsOf(sql, user)).toBe(maxAttempts)
})

test('a malformed password does not count as an attempt', async ({ user, post, sql }) => {
  const token = await newToken(user)
  for (let count = 0; count < maxAttempts; count++) {
    for (const [password, code] of [
      ['short', 'too_short'],
      ['a'.repeat(73), 'too_long'],
      ['lantern\u0000 river meadow', 'invalid_characters'],
    ])
      expect(codesOf([await post(resetPath, { token, password })])).toEqual([code])
  }
  expect(await attemptsOf(sql, user)).toBe(0)
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
})

test('attempts are counted across server processes', async ({ user, sql }) => {
  const servers = await Promise.all([startServer(), startServer()])
  const token = await newToken(user)
  const responses = await times(120, (index) => attemptAt(servers[index % 2]!, token, weakPassword))
  expect(countOf(responses, 'too_guessable')).toBe(maxAttempts)
  expect(countOf(responses, 'invalid_or_expired')).toBe(120 - maxAttempts)
  expect(await attemptsOf(sql, user)).toBe(maxAttempts)

  const renewed = await newToken(user)
  const resets = await times(20, (index) => attemptAt(servers[index % 2]!, renewed, newPassword()))
  expect([countOf(resets, 200), countOf(resets, 'invalid_or_expired')]).toEqual([1, 19])
  for (const server of servers) await server.stop()
})
