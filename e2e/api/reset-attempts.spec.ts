import { availableParallelism } from 'node:os'
import bcrypt from 'bcryptjs'
import { documentedFetch } from '../support/documented'
import { eventLoopDuring, withEventLoopProbe } from '../support/event-loop'
import {
  type Answer,
  expect,
  newAddress,
  newPassword,
  newToken,
  type Person,
  post,
  reset,
  type Sql,
  test,
} from '../support/fixtures'
import { flood } from '../support/flood'
import { type Server, startServer } from '../support/server'

const maxAttempts = 30
const worstPassword = 'P4$$w0rd'.repeat(9) // 72 bytes, of which most have to be tried in several spellings
const weakPassword = 'password1'

const times = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const attemptAt = ({ url }: { url: string }, token: string, password: string) =>
  post(url + reset, { token, password }, { 'X-Forwarded-For': newAddress() })
const send = ({ url }: { url: string }, body: object) =>
  documentedFetch(url + reset, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: JSON.stringify(body),
  })
const codesOf = (answers: Answer[]) => answers.map(({ status, body }) => body.issues?.[0]?.code ?? status)
const countOf = (answers: Answer[], code: string | number) => codesOf(answers).filter((found) => found === code).length
const attemptsOf = async (sql: Sql, person: Person) =>
  (await sql('SELECT attempts FROM reset_tokens WHERE user_id = $1', [person.id]))[0]!.attempts as number
const newPeople = async (sql: Sql, count: number) =>
  (await sql(
    `INSERT INTO users (email) SELECT gen_random_uuid() || '@example.com' FROM generate_series(1, $1) RETURNING id, email`,
    [count],
  )) as Person[]

test.describe('on a server of its own', () => {
  let server: Server
  test.beforeAll(async ({ sql }) => {
    server = await startServer(withEventLoopProbe)
    const [person] = await newPeople(sql, 1) // the first judgement and the first hash also load what they need
    const token = await newToken(person!)
    for (const password of [worstPassword, worstPassword, newPassword()]) await attemptAt(server, token, password)
  })
  test.afterAll(() => server.stop())
  test.describe.configure({ mode: 'default' }) // one after the other, because each measures the process

  test('a flood of the worst passwords holds the event loop for one judgement at a time', async ({ sql }) => {
    const control: number[] = []
    const flooded: number[] = []
    for (let round = 0; round < 3; round++) {
      const tokens = await Promise.all((await newPeople(sql, 12)).map(newToken))
      const sendMany = (tokenOf: (index: number) => string) =>
        flood(60, (index) => send(server, { token: tokenOf(index), password: worstPassword }), 24)
      control.push((await eventLoopDuring(server, () => sendMany(() => 'fabricated'))).longestTurnMs)
      const reading = await eventLoopDuring(server, async () => {
        const responses = await sendMany((index) => tokens[index % tokens.length]!)
        expect(responses.filter(({ status }) => status === 400)).toHaveLength(60)
      })
      flooded.push(reading.longestTurnMs)
    }
    // the best round: a garbage collection may fall into any of them
    expect(Math.min(...flooded) - Math.min(...control), JSON.stringify({ control, flooded })).toBeLessThan(50)
  })

  test('72 characters cost no more than 36', async ({ person }) => {
    const cpuOf = async (password: string) => {
      const token = await newToken(person)
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

  test('attempts that wait for one that then succeeds cost neither a judgement nor a hash', async ({ sql }) => {
    const [one, many] = await newPeople(sql, 2)
    const [token, contested] = [await newToken(one!), await newToken(many!)]
    const single = await eventLoopDuring(server, async () => {
      expect((await attemptAt(server, token, newPassword())).status).toBe(200)
    })
    const twenty = await eventLoopDuring(server, async () => {
      const answers = await times(20, () => attemptAt(server, contested, newPassword()))
      expect([countOf(answers, 200), countOf(answers, 'invalid_or_expired')]).toEqual([1, 19])
    })
    expect(twenty.cpuMs / single.cpuMs).toBeLessThan(4)
  })

  test('hundreds of requests with one token are thirty attempts, and another reset is served meanwhile', async ({
    person,
    sql,
  }) => {
    const [victim] = await newPeople(sql, 1)
    const [token, password, victimToken] = [await newToken(person), newPassword(), await newToken(victim!)]
    let done = 0
    const flooding = times(300, () => attemptAt(server, token, worstPassword).finally(() => done++))
    await expect.poll(() => attemptsOf(sql, person)).toBe(maxAttempts)
    const served = await attemptAt(server, victimToken, password)
    const doneBefore = done
    const answers = await flooding
    expect(served.status).toBe(200)
    expect(countOf(answers, 'too_guessable')).toBe(maxAttempts)
    expect(countOf(answers, 'invalid_or_expired')).toBe(300 - maxAttempts)
    expect(doneBefore).toBeLessThan(300) // it did not wait for all of them
    const [{ password_hash: hash }] = (await sql('SELECT password_hash FROM users WHERE id = $1', [victim!.id])) as [
      { password_hash: string },
    ]
    expect(await bcrypt.compare(password, hash)).toBe(true)
  })

  test('a full queue costs no attempt, and a fabricated token needs no place in it', async ({ person, sql }) => {
    const people = await newPeople(sql, 24 * Math.max(1, Math.min(availableParallelism() - 1, 3)) + 12)
    const tokens = await times(people.length, (index) => newToken(people[index]!))
    const flooding = times(tokens.length, (index) => attemptAt(server, tokens[index]!, newPassword()))
    const token = await newToken(person)
    await expect.poll(async () => (await attemptAt(server, token, weakPassword)).status, { intervals: [20] }).toBe(503)
    expect(codesOf([await attemptAt(server, 'fabricated', newPassword())])).toEqual(['invalid_or_expired'])
    const answers = await flooding
    const turnedAway = people.filter((_, index) => answers[index]!.status === 503)
    expect(turnedAway.length).toBeGreaterThan(0)
    for (const other of turnedAway) expect(await attemptsOf(sql, other)).toBe(0)
  })
})

test('after 30 weak passwords a new link is needed, which has 30 again', async ({ person, post, sql }) => {
  const attempt = async (token: string, password: string) => codesOf([await post(reset, { token, password })])[0]
  const token = await newToken(person)
  for (let count = 1; count <= maxAttempts; count++) {
    expect(await attempt(token, weakPassword)).toBe('too_guessable')
    expect(await attemptsOf(sql, person)).toBe(count)
  }
  expect(await attempt(token, newPassword())).toBe('invalid_or_expired')
  expect(await attempt(token, 'short')).toBe('invalid_or_expired')
  const spent = await post(reset, { token, password: newPassword() }, { 'X-Request-Id': 'the-same-for-both' })
  const unknown = await post(
    reset,
    { token: 'unknown', password: newPassword() },
    { 'X-Request-Id': 'the-same-for-both' },
  )
  expect(spent.body).toEqual(unknown.body)
  expect(await sql('SELECT password_hash FROM users WHERE id = $1', [person.id])).toEqual([{ password_hash: null }])

  const renewed = await newToken(person)
  expect(await attemptsOf(sql, person)).toBe(0)
  expect(await attempt(renewed, newPassword())).toBe(200)
})

test('the thirtieth attempt may succeed', async ({ person, post, sql }) => {
  const token = await newToken(person)
  await sql('UPDATE reset_tokens SET attempts = $1 WHERE user_id = $2', [maxAttempts - 1, person.id])
  expect((await post(reset, { token, password: newPassword() })).status).toBe(200)
  expect(await attemptsOf(sql, person)).toBe(maxAttempts)
})

test('a password of the wrong format is no attempt', async ({ person, post, sql }) => {
  const token = await newToken(person)
  for (let count = 0; count < maxAttempts; count++) {
    for (const [password, code] of [
      ['short', 'too_short'],
      ['a'.repeat(73), 'too_long'],
      ['lantern\u0000 river meadow', 'invalid_characters'],
    ])
      expect(codesOf([await post(reset, { token, password })])).toEqual([code])
  }
  expect(await attemptsOf(sql, person)).toBe(0)
  expect((await post(reset, { token, password: newPassword() })).status).toBe(200)
})

test('two server processes count together', async ({ person, sql }) => {
  const servers = await Promise.all([startServer(), startServer()])
  const token = await newToken(person)
  const answers = await times(120, (index) => attemptAt(servers[index % 2]!, token, weakPassword))
  expect(countOf(answers, 'too_guessable')).toBe(maxAttempts)
  expect(countOf(answers, 'invalid_or_expired')).toBe(120 - maxAttempts)
  expect(await attemptsOf(sql, person)).toBe(maxAttempts)

  const renewed = await newToken(person)
  const resets = await times(20, (index) => attemptAt(servers[index % 2]!, renewed, newPassword()))
  expect([countOf(resets, 200), countOf(resets, 'invalid_or_expired')]).toEqual([1, 19])
  for (const server of servers) await server.stop()
})
