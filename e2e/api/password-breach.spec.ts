import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcryptjs'
import { expect, newAddress, newPassword, newToken, type Person, post, reset, test } from '../support/fixtures'
import { startServer } from '../support/server'

const breached = newPassword()
const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
const known = `0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42\r\n011053FD0102E94D6AE2F8B83D76FAF94F6:1`
const skipped = 'the breached-password check is slow or does not answer'

/** A range API on loopback that does with each request what `respond` says, and a server that uses it. */
async function startWithApi(respond: (response: ServerResponse) => void) {
  const api = { respond, paths: [] as string[], underWay: 0, mostAtOnce: 0 }
  const listener = createServer((request, response) => {
    api.paths.push(request.url!)
    api.mostAtOnce = Math.max(api.mostAtOnce, ++api.underWay)
    response.on('close', () => api.underWay--)
    api.respond(response)
  }).listen(0, 'localhost')
  await once(listener, 'listening')
  const PASSWORD_BREACH_URL = `http://localhost:${(listener.address() as AddressInfo).port}`
  const server = await startServer({ PASSWORD_BREACH_CHECK: 'true', PASSWORD_BREACH_URL })
  const attempt = async (token: string, password: string) => {
    const { status, body } = await post(server.url + reset, { token, password }, { 'X-Forwarded-For': newAddress() })
    return body.issues?.[0]?.code ?? status
  }
  const stop = async () => {
    await server.stop()
    listener.closeAllConnections()
    listener.close()
  }
  return { api, server, attempt, stop }
}

const answers = (response: ServerResponse) => void response.end(known)
const fails = (response: ServerResponse) => void response.writeHead(503).end()
const hangs = () => {}
const answersAfter = (ms: number) => (response: ServerResponse) => void setTimeout(() => response.end(known), ms)

test('a known password is rejected, the service receives five digits of a hash, and nothing for a guessable one', async ({
  person,
}) => {
  const { api, attempt, stop } = await startWithApi(answers)
  const token = await newToken(person)
  expect(await attempt(token, breached)).toBe('breached')
  expect(api.paths).toEqual([`/range/${digest.slice(0, 5)}`])
  expect(await attempt(token, 'password1')).toBe('too_guessable')
  expect(api.paths).toHaveLength(1)
  expect(await attempt(token, newPassword())).toBe(200)
  await stop()
})

test('requests to the service are made from the queue: few at once, one for each token', async ({ person, sql }) => {
  const { api, attempt, stop } = await startWithApi(answersAfter(50))
  const token = await newToken(person)
  const codes = await Promise.all(Array.from({ length: 300 }, () => attempt(token, breached)))
  expect(codes.filter((code) => code === 'breached')).toHaveLength(30)
  expect([api.mostAtOnce, api.paths.length]).toEqual([1, 30])

  const people = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 20) RETURNING id, email`,
  )) as Person[]
  const tokens = await Promise.all(people.map(newToken))
  await Promise.all(tokens.map((other) => attempt(other, breached)))
  expect(api.paths).toHaveLength(50)
  expect(api.mostAtOnce).toBeLessThanOrEqual(Math.max(1, Math.min(availableParallelism() - 1, 3)))
  await stop()
})

test('thirty attempts with one token take one place in the queue: other resets are not turned away', async ({
  person,
  sql,
}) => {
  const { api, attempt, stop } = await startWithApi(answersAfter(400))
  const token = await newToken(person)
  const flooding = Promise.all(Array.from({ length: 30 }, () => attempt(token, breached)))
  const counted = async () =>
    (await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [person.id]))[0]!.attempts
  await expect.poll(counted, { intervals: [50] }).toBe(30)
  expect(api.underWay).toBeLessThanOrEqual(1)

  const people = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 10) RETURNING id, email`,
  )) as Person[]
  const others = await Promise.all(people.map(async (other) => attempt(await newToken(other), newPassword())))
  expect(others).toEqual(people.map(() => 200))
  await flooding
  await stop()
})

test('an attempt is counted before the work', async ({ person, sql }) => {
  const { api, attempt, stop } = await startWithApi(hangs)
  const attempting = attempt(await newToken(person), newPassword())
  await expect.poll(() => api.underWay).toBe(1) // judged already, not hashed yet
  expect(await sql('SELECT attempts, used_at FROM reset_tokens WHERE user_id = $1', [person.id])).toEqual([
    { attempts: 1, used_at: null },
  ])
  expect(await attempting).toBe(200)
  await stop()
})

for (const [how, respond] of [
  ['fails', fails],
  ['hangs', hangs],
  ['is slow', answersAfter(1_500)],
] as const) {
  test(`a service that ${how} is left alone for a while, which is logged once, and is then asked again`, async ({
    person,
    sql,
  }) => {
    test.setTimeout(120_000)
    const { api, server, attempt, stop } = await startWithApi(respond)
    const token = await newToken(person)
    expect(await attempt(token, breached)).toBe(how === 'is slow' ? 'breached' : 200)
    for (let count = 0; count < 5; count++) expect(await attempt(await newToken(person), breached)).toBe(200)
    expect(api.paths).toHaveLength(1)
    expect(server.output().split(skipped)).toHaveLength(2)
    const [{ password_hash: hash }] = (await sql('SELECT password_hash FROM users WHERE id = $1', [person.id])) as [
      { password_hash: string },
    ]
    expect(await bcrypt.compare(breached, hash)).toBe(true)

    api.respond = answers
    await expect
      .poll(async () => attempt(await newToken(person), breached), { timeout: 60_000, intervals: [3_000] })
      .toBe('breached')
    expect(server.output().split(skipped)).toHaveLength(2)
    await stop()
  })
}
