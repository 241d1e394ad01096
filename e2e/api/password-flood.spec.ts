import * as paths from '../../lib/contract/paths'
import {
  exchangePath,
  expect,
  newAddress,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
  type User,
} from '../support/fixtures'
import { startServer } from '../support/server'

test('an exchange does not wait for the passwords of its own network', async ({ sql, user }) => {
  const server = await startServer({ PASSWORD_SIGN_IN: 'true' })
  const users = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 24) RETURNING id, email`,
  )) as User[]
  const tokens = await Promise.all(users.map(newToken))
  const signIns = users.map(({ email }) => ({ email, password: newPassword() }))
  const resets = tokens.map((token) => ({ token, password: newPassword() }))
  for (const [path, bodies, outcome] of [
    [paths.signIn, signIns, 'SIGN_IN_INVALID'],
    [`${paths.signIn}/`, signIns, 'SIGN_IN_INVALID'],
    [resetPath, resets, undefined],
  ] as const) {
    const headers = { 'X-Forwarded-For': newAddress() }
    const send = (to: string, body: object) => postTo(server.url + to, body, headers)
    let ended = 0
    const others = bodies.map((body) => send(path, body).finally(() => ended++))
    expect((await Promise.race(others)).body.code).toBe(outcome)
    const before = ended
    expect((await send(exchangePath, { code: await newCode(user) })).status).toBe(200)
    const between = ended - before
    console.log(`${between} requests to ${path} ended before an exchange`)
    expect(between).toBeLessThan(5) // 16 are in progress at the same time, so at least 8 if it waits for a turn
    await Promise.all(others)
  }
  await server.stop()
})

test('a flood of resets is rejected before any token is used, and exchanges still succeed', async ({ sql, user }) => {
  const server = await startServer()
  const users = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 120) RETURNING id, email`,
  )) as User[]
  const tokens = await Promise.all(users.map(newToken))
  const send = (path: string, body: object) => postTo(server.url + path, body, { 'X-Forwarded-For': newAddress() })

  let flooding = true
  const floodedAt = performance.now()
  const flood = Promise.all(tokens.map((token) => send(resetPath, { token, password: newPassword() }))).finally(() => {
    flooding = false
  })
  const waits: number[] = []
  while (flooding) {
    const code = await newCode(user) // of a user without a reset, which would delete the code
    const startedAt = performance.now()
    expect((await send(exchangePath, { code })).status).toBe(200)
    waits.push(performance.now() - startedAt)
  }
  const responses = await flood
  const floodMs = performance.now() - floodedAt
  expect(waits.length).toBeGreaterThan(2)
  expect(Math.max(...waits)).toBeLessThan(floodMs / 2) // an exchange queued behind the hashes would wait for the last one

  const rejected = tokens.filter((_, index) => responses[index]!.status === 503)
  expect(rejected.length).toBeGreaterThan(0)
  expect(responses.filter(({ status }) => status === 200).length).toBe(tokens.length - rejected.length)
  for (const { status, headers, body } of responses.filter(({ status }) => status !== 200)) {
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'SERVICE_UNAVAILABLE', '5'])
    expect(body).not.toHaveProperty('outcome')
  }
  expect((await send(resetPath, { token: rejected[0]!, password: newPassword() })).status).toBe(200)
  await server.stop()
})
