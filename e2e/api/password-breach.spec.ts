import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { expect, newAddress, newPassword, newToken, postTo, resetPath, test, type User } from '../support/fixtures'
import { startServer } from '../support/server'

const breached = newPassword()
const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
const known = `0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42\r\n011053FD0102E94D6AE2F8B83D76FAF94F6:1`

/** Starts a range API that handles each request with `respond`, and a server that uses it. */
async function startWithApi(respond: (response: ServerResponse) => void) {
  const api = { paths: [] as string[], inProgress: 0, mostAtOnce: 0 }
  const listener = createServer((request, response) => {
    api.paths.push(request.url!)
    api.mostAtOnce = Math.max(api.mostAtOnce, ++api.inProgress)
    response.on('close', () => api.inProgress--)
    respond(response)
  }).listen(0, 'localhost')
  await once(listener, 'listening')
  const PASSWORD_BREACH_URL = `http://localhost:${(listener.address() as AddressInfo).port}`
  const server = await startServer({ PASSWORD_BREACH_CHECK: 'true', PASSWORD_BREACH_URL })
  const attempt = async (token: string, password: string) => {
    const { status, body } = await postTo(
      server.url + resetPath,
      { token, password },
      { 'X-Forwarded-For': newAddress() },
    )
    return body.issues?.[0]?.code ?? status
  }
  const stop = async () => {
    await server.stop()
    listener.closeAllConnections()
    listener.close()
  }
  return { api, attempt, stop }
}

const responds = (response: ServerResponse) => void response.end(known)
const hangs = () => {}
const respondsAfter = (ms: number) => (response: ServerResponse) => void setTimeout(() => response.end(known), ms)

test('a breached password is rejected; the API receives five digits of its hash, and nothing for a guessable one', async ({
  user,
}) => {
  const { api, attempt, stop } = await startWithApi(responds)
  const token = await newToken(user)
  expect(await attempt(token, breached)).toBe('breached')
  expect(api.paths).toEqual([`/range/${digest.slice(0, 5)}`])
  expect(await attempt(token, 'password1')).toBe('too_guessable')
  expect(api.paths).toHaveLength(1)
  expect(await attempt(token, newPassword())).toBe(200)
  await stop()
})

test('API requests go through the queue: few at once, one per token', async ({ user, sql }) => {
  const { api, attempt, stop } = await startWithApi(respondsAfter(50))
  const token = await newToken(user)
  const codes = await Promise.all(Array.from({ length: 300 }, () => attempt(token, breached)))
  expect(codes.filter((code) => code === 'breached')).toHaveLength(30)
  expect([api.mostAtOnce, api.paths.length]).toEqual([1, 30])

  const users = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 20) RETURNING id, email`,
  )) as User[]
  const tokens = await Promise.all(users.map(newToken))
  await Promise.all(tokens.map((other) => attempt(other, breached)))
  expect(api.paths).toHaveLength(50)
  expect(api.mostAtOnce).toBeLessThanOrEqual(Math.max(1, Math.min(availableParallelism() - 1, 3)))
  await stop()
})

test('passwords occupy all cores but one, and three at most', async ({ sql }) => {
  const { api, attempt, stop } = await startWithApi(hangs)
  const users = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 8) RETURNING id, email`,
  )) as User[]
  const tokens = await Promise.all(users.map(newToken))
  await Promise.all(tokens.map((token) => attempt(token, newPassword())))
  expect(api.mostAtOnce).toBeLessThanOrEqual(Math.max(1, Math.min(availableParallelism() - 1, 3)))
  await stop()
})

test('thirty attempts with one token take one place in the queue, so other resets are not rejected', async ({
  user,
  sql,
}) => {
  const { api, attempt, stop } = await startWithApi(respondsAfter(400))
  const token = await newToken(user)
  const flooding = Promise.all(Array.from({ length: 30 }, () => attempt(token, breached)))
  const counted = async () =>
    (await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [user.id]))[0]!.attempts
  await expect.poll(counted, { intervals: [50] }).toBe(30)
  expect(api.inProgress).toBeLessThanOrEqual(1)

  const users = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 10) RETURNING id, email`,
  )) as User[]
  const others = await Promise.all(users.map(async (other) => attempt(await newToken(other), newPassword())))
  expect(others).toEqual(users.map(() => 200))
  await flooding
  await stop()
})

test('an attempt is counted before the password is checked', async ({ user, sql }) => {
  const { api, attempt, stop } = await startWithApi(hangs)
  const attempting = attempt(await newToken(user), newPassword())
  await expect.poll(() => api.inProgress).toBe(1) // checked, but not hashed yet
  expect(await sql('SELECT attempts, used_at FROM reset_tokens WHERE user_id = $1', [user.id])).toEqual([
    { attempts: 1, used_at: null },
  ])
  expect(await attempting).toBe(200)
  await stop()
})
