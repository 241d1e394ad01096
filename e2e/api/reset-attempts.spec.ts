import { availableParallelism } from 'node:os'
import {
  type ApiResponse,
  expect,
  newPassword,
  newToken,
  newUsers,
  postTo,
  resetPath,
  type Sql,
  type TestServer,
  test,
  type User,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { freePort } from '../support/servers/server'

const maxAttempts = 30
const weakPassword = 'password1'
const hashesAtOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))
// More requests would wait for a connection, and be rejected after 3 seconds.
const connectionsOfServer = 10

const times = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const attemptAt = ({ url }: { url: string }, token: string, password: string) =>
  postTo(url + resetPath, { token, password }, { 'X-Forwarded-For': newAddress() })
const codesOf = (responses: ApiResponse[]) =>
  responses.map(({ status, body }) => body.issues?.[0]?.code ?? status)
const countOf = (responses: ApiResponse[], code: string | number) =>
  codesOf(responses).filter((found) => found === code).length
const attemptsOf = async (sql: Sql, user: User) =>
  (await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [user.id]))[0]!
    .attempts as number

test.describe('on two servers', () => {
  test.describe.configure({ mode: 'serial' }) // the tests would fill each other's hashing queue

  let servers: [TestServer, TestServer]
  test.beforeAll(async ({ serverWith }) => {
    const settings = { HASH_MS: '60' } // slow enough to fill the queue
    const PORT = String(await freePort()) // so that the settings are not equal
    servers = await Promise.all([serverWith(settings), serverWith({ ...settings, PORT })])
    // The first request loads the dictionaries, which would block concurrent requests.
    for (const each of servers) await attemptAt(each, 'fabricated', newPassword())
  })

  test('counts the attempts with one token across servers', async ({ user, sql }) => {
    const token = await newToken(user)
    const left = 7
    await sql('UPDATE reset_tokens SET attempts = $1 WHERE user_id = $2', [
      maxAttempts - left,
      user.id,
    ])
    const count = 2 * connectionsOfServer
    const responses = await times(count, (index) =>
      attemptAt(servers[index % 2]!, token, weakPassword),
    )
    expect(countOf(responses, 'too_guessable')).toBe(left)
    expect(countOf(responses, 'invalid_or_expired')).toBe(count - left)
    expect(await attemptsOf(sql, user)).toBe(maxAttempts)
  })

  test('accepts only one of 20 concurrent resets with the same token across servers', async ({
    user,
  }) => {
    const token = await newToken(user)
    const resets = await times(2 * connectionsOfServer, (index) =>
      attemptAt(servers[index % 2]!, token, newPassword()),
    )
    // on a busy machine, some wait too long for a connection, and change nothing
    const others = countOf(resets, 'invalid_or_expired') + countOf(resets, 503)
    expect([countOf(resets, 200), others]).toEqual([1, 19])
    const later = await attemptAt(servers[0], token, newPassword())
    expect(codesOf([later])).toEqual(['invalid_or_expired'])
  })

  test('does not count attempts that a full hashing queue rejects, and still looks up the token', async ({
    sql,
  }) => {
    const users = await newUsers(sql, 24 * hashesAtOnce + 40)
    const tokens = await times(users.length, (index) => newToken(users[index]!))
    let rejections = 0
    const flooding = times(tokens.length, async (index) => {
      const response = await attemptAt(servers[0], tokens[index]!, newPassword())
      if (response.status === 503) rejections++
      return response
    })
    await expect.poll(() => rejections, { intervals: [10] }).toBeGreaterThan(0)
    expect(codesOf([await attemptAt(servers[0], 'fabricated', newPassword())])).toEqual([
      'invalid_or_expired',
    ])
    const responses = await flooding
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 503]))

    // On a busy machine, others wait too long for a connection. Their lines have a cause.
    const unavailable = await servers[0].logged('SERVICE_UNAVAILABLE')
    const byQueue = new Set(
      unavailable.flatMap(({ requestId, cause }) => (cause ? [] : [requestId])),
    )
    const rejected = users.filter((_, index) =>
      byQueue.has(responses[index]!.body.requestId),
    )
    expect(rejected.length).toBeGreaterThan(0)
    for (const other of rejected) expect(await attemptsOf(sql, other)).toBe(0)
  })
})

test('a link becomes invalid after 30 attempts, and a new link allows 30 again', async ({
  user,
  post,
  sql,
}) => {
  const attempt = (token: string, password: string) =>
    post(resetPath, { token, password }, { 'X-Request-Id': 'the-same-for-all' })
  const token = await newToken(user)
  await sql('UPDATE reset_tokens SET attempts = $1 WHERE user_id = $2', [
    maxAttempts - 1,
    user.id,
  ])
  expect(codesOf([await attempt(token, weakPassword)])).toEqual(['too_guessable'])
  expect(await attemptsOf(sql, user)).toBe(maxAttempts)
  const unknown = await attempt('unknown', newPassword())
  for (const password of [newPassword(), 'short'])
    expect((await attempt(token, password)).body).toEqual(unknown.body)
  expect(await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])).toEqual([
    { password_hash: null },
  ])

  const renewed = await newToken(user)
  expect(await attemptsOf(sql, user)).toBe(0)
  await sql('UPDATE reset_tokens SET attempts = $1 WHERE user_id = $2', [
    maxAttempts - 1,
    user.id,
  ])
  expect((await attempt(renewed, newPassword())).status).toBe(200)
})

test('does not count an attempt with a malformed password', async ({
  user,
  post,
  sql,
}) => {
  const token = await newToken(user)
  for (const [password, code] of [
    ['short', 'too_short'],
    ['a'.repeat(73), 'too_long'],
    ['lantern\u0000 river meadow', 'invalid_characters'],
  ])
    expect(codesOf([await post(resetPath, { token, password })])).toEqual([code])
  expect(await attemptsOf(sql, user)).toBe(0)
})
