import { once } from 'node:events'
import pg from 'pg'
import * as paths from '../../lib/contract/paths'
import { expect, newAddress, test } from '../support/fixtures'
import { flood } from '../support/flood'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { type Server, startServer } from '../support/server'

const waitingAtMost = 1_000

let database: OwnDatabase
let server: Server
test.beforeEach(async () => {
  database = await openOwnDatabase()
  const mail = { SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'login@example.com' }
  server = await startServer({ DATABASE_URL: database.url(), ...mail })
})
test.afterEach(async () => {
  await server?.stop()
  await database?.drop()
})

const forgot = (email: string, address: string) =>
  fetch(server.url + paths.forgotPassword, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
    body: JSON.stringify({ email }),
  })

/** Runs `act` while no request for a mail can be worked on. */
async function whileUsersAreLocked(act: () => Promise<unknown>): Promise<void> {
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  try {
    await holder.query('BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE')
    await act()
    await holder.query('COMMIT')
  } finally {
    await holder.end()
  }
}

test('a flood of one network delays the mails of others by few of its own, and only it loses some', async () => {
  const count = waitingAtMost + 50
  const emailOf = (index: number) => `user-${index}@example.com`
  await database.sql(`INSERT INTO users (email) SELECT 'user-' || n || '@example.com' FROM generate_series(0, $1) n`, [
    count + 1,
  ])
  await whileUsersAreLocked(async () => {
    const address = newAddress()
    const responses = await flood(count, (index) => forgot(emailOf(index), address))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await forgot(emailOf(count), newAddress())).status).toBe(200)
    // without scripts
    const form = {
      method: 'POST',
      body: new URLSearchParams({ email: emailOf(count + 1) }),
      redirect: 'manual',
    } as const
    const headers = { 'X-Forwarded-For': newAddress() }
    expect((await fetch(`${server.url}/forgot-password/send`, { ...form, headers })).status).toBe(303)
  })
  const lost = () => server.output().split('a reset mail could not be queued: too many').length - 1
  const rows = () =>
    database.sql('SELECT (SELECT email FROM users WHERE id = user_id) FROM mails ORDER BY requested_at')
  await expect.poll(async () => (await rows()).length + lost(), { timeout: 60_000 }).toBe(count + 2)
  expect(lost()).toBeGreaterThanOrEqual(50)
  expect(lost()).toBeLessThan(60)
  const order = (await rows()).map(({ email }) => email)
  const ranks = [count, count + 1].map((index) => order.indexOf(emailOf(index)))
  console.log(`${lost()} mails lost; those of others were queued as number ${ranks.join(' and ')}`)
  for (const rank of ranks) {
    expect(rank).toBeGreaterThanOrEqual(0)
    expect(rank).toBeLessThan(8)
  }
})

test('a process that has to stop before the mails are queued says how many', async () => {
  await whileUsersAreLocked(async () => {
    for (let index = 0; index < 5; index++)
      expect((await forgot(`user-${index}@example.com`, newAddress())).status).toBe(200)
    server.process.kill('SIGTERM')
    await once(server.process, 'exit')
  })
  expect(server.output()).toContain('"count":5,"msg":"the process ended before these reset mails were queued"')
})

test('while the database is unreachable, a flood of one site is not kept for another attempt', async () => {
  const mail = { SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'login@example.com' }
  const lonely = await startServer({ DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nothing', ...mail })
  const address = newAddress()
  await flood(150, (index) =>
    fetch(lonely.url + paths.forgotPassword, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
      body: JSON.stringify({ email: `user-${index}@example.com` }),
    }),
  )
  const times = () =>
    lonely
      .output()
      .split('\n')
      .filter((line) => line.includes('a reset mail could not be queued'))
      .map((line) => Date.parse(JSON.parse(line).time))
  await expect.poll(() => times().length, { timeout: 60_000 }).toBe(150)
  const retriedForMs = times()[50]! - times()[49]!
  expect(retriedForMs).toBeGreaterThan(5_000)
  await lonely.stop()
})
