import { availableParallelism } from 'node:os'
import {
  type ApiResponse,
  exchangePath,
  expect,
  newAddress,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { startServer } from '../support/server'

const maxAttempts = 30
const weakPassword = 'password1'
const hashesAtOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))

const times = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const attemptAt = ({ url }: { url: string }, token: string, password: string) =>
  postTo(url + resetPath, { token, password }, { 'X-Forwarded-For': newAddress() })
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

test('beyond the queue of hashes, a reset is a 503 that costs no attempt; exchanges do not wait', async ({
  sql,
  user,
}) => {
  const server = await startServer()
  const users = await newUsers(sql, 25 * hashesAtOnce + 12)
  const tokens = await Promise.all(users.map(newToken))
  let isFlooding = true
  const flooding = times(tokens.length, (index) => attemptAt(server, tokens[index]!, newPassword())).finally(() => {
    isFlooding = false
  })
  let exchanges = 0
  for (; isFlooding; exchanges++) {
    const code = await newCode(user) // of a user without a reset, which would delete the code
    expect((await postTo(server.url + exchangePath, { code }, { 'X-Forwarded-For': newAddress() })).status).toBe(200)
  }
  expect(exchanges).toBeGreaterThan(5)
  const responses = await flooding
  const rejected = users.filter((_, index) => responses[index]!.status === 503)
  expect(rejected.length).toBeGreaterThan(0)
  expect(countOf(responses, 200)).toBe(users.length - rejected.length)
  for (const { status, headers, body } of responses.filter(({ status }) => status !== 200)) {
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'SERVICE_UNAVAILABLE', '5'])
    expect(body).not.toHaveProperty('outcome')
  }
  for (const other of rejected) expect(await attemptsOf(sql, other)).toBe(0)
  const token = tokens[users.indexOf(rejected[0]!)]!
  expect((await attemptAt(server, token, newPassword())).status).toBe(200)
  await server.stop()
})

test('of 300 concurrent requests with one token, 30 are attempts', async ({ user, sql }) => {
  const server = await startServer()
  const token = await newToken(user)
  const responses = await times(300, () => attemptAt(server, token, weakPassword))
  expect(countOf(responses, 'too_guessable')).toBe(maxAttempts)
  expect(countOf(responses, 'invalid_or_expired')).toBe(300 - maxAttempts)
  expect(await attemptsOf(sql, user)).toBe(maxAttempts)
  await server.stop()
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
