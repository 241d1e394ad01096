import {
  exchange,
  expect,
  newAddress,
  newCode,
  newPassword,
  newToken,
  type Person,
  post,
  reset,
  test,
} from '../support/fixtures'
import { startServer } from '../support/server'

test('a flood of resets is refused before anything is consumed, and exchanges are answered meanwhile', async ({
  sql,
}) => {
  const server = await startServer()
  const people = (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, 120) RETURNING id, email`,
  )) as Person[]
  const tokens = await Promise.all(people.map(newToken))
  const send = (path: string, body: object) => post(server.url + path, body, { 'X-Forwarded-For': newAddress() })

  let flooding = true
  const floodedAt = performance.now()
  const flood = Promise.all(tokens.map((token) => send(reset, { token, password: newPassword() }))).finally(() => {
    flooding = false
  })
  const waits: number[] = []
  for (let index = 0; flooding; index++) {
    const code = await newCode(people[index % people.length]!)
    const startedAt = performance.now()
    expect((await send(exchange, { code })).status).toBe(200)
    waits.push(performance.now() - startedAt)
  }
  const answers = await flood
  const floodMs = performance.now() - floodedAt
  expect(waits.length).toBeGreaterThan(2)
  expect(Math.max(...waits)).toBeLessThan(floodMs / 2) // whoever queued behind the hashes would be answered with the last of them

  const refused = tokens.filter((_, index) => answers[index]!.status === 503)
  expect(refused.length).toBeGreaterThan(0)
  expect(answers.filter(({ status }) => status === 200).length).toBe(tokens.length - refused.length)
  for (const { status, headers, body } of answers.filter(({ status }) => status !== 200)) {
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'SERVICE_UNAVAILABLE', '5'])
    expect(body).not.toHaveProperty('outcome')
  }
  expect((await send(reset, { token: refused[0]!, password: newPassword() })).status).toBe(200)
  await server.stop()
})
