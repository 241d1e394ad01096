import { randomUUID } from 'node:crypto'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { expect, type TestServer, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { freePort } from '../support/servers/server'
import { type Smtp, startSmtp } from '../support/servers/smtp'

// Tests how many connections the app opens to the mail server, and what it does if they
// are too many.

const cronSecret = keepSecret(`cron-${randomUUID()}`)
let database: OwnDatabase
let smtp: Smtp
/** Two servers with the default settings. */
let servers: TestServer[]
let withFive: TestServer

test.beforeAll(async ({ serverWith }) => {
  database = await openOwnDatabase()
  smtp = await startSmtp()
  const settings = {
    DATABASE_URL: database.url(),
    CRON_SECRET: cronSecret,
    ...smtp.settings,
    // no timer sends the emails of a test
    ...preload('faster-timers.mjs'),
    FASTER_TIMERS: '1',
  }
  const own = [{}, { PORT: String(await freePort()) }, { SMTP_MAX_CONNECTIONS: '5' }]
  const [first, second, third] = await Promise.all(
    own.map((each) => serverWith({ ...settings, ...each })),
  )
  servers = [first!, second!]
  withFive = third!
})
test.beforeEach(async () => {
  await database.sql('DELETE FROM mails')
  smtp.mails.length = 0
  smtp.limitConnections(1_000)
})
test.afterAll(async () => {
  await smtp?.stop()
  await database?.drop()
})

const queueMails = (count: number) =>
  database.sql(
    `WITH created AS (
       INSERT INTO users (email, email_domain)
       SELECT gen_random_uuid() || '@example.com', 'example.com' FROM generate_series(1, $1) RETURNING id
     )
     INSERT INTO mails (kind, user_id, language) SELECT 'password-changed', id, 'en' FROM created`,
    [count],
  )

/** Sends the due emails. Returns how many the server has tried to send. */
async function sendDue({ url }: TestServer): Promise<number> {
  const response = await fetch(`${url}/api/cron/mail`, {
    headers: { Authorization: `Bearer ${cronSecret}`, 'X-Forwarded-For': newAddress() },
  })
  return (await response.json()).tried
}

/** Delays the responses of the mail server until `release` is called. */
function hold() {
  const held = { count: 0, most: 0, release: () => {} }
  const released = new Promise<void>((resolve) => (held.release = resolve))
  smtp.beforeAccepting(async () => {
    held.most = Math.max(held.most, ++held.count)
    await released
    held.count--
  })
  return held
}

for (const [setting, find, expected] of [
  ['by default', () => servers[0]!, 2],
  ['with SMTP_MAX_CONNECTIONS=5', () => withFive, 5],
] as const)
  test(`${setting}, a process has at most ${expected} connections to the mail server`, async () => {
    const held = hold()
    await queueMails(12)
    const sending = sendDue(find())
    await expect.poll(() => held.count).toBe(expected)
    held.release()
    await sending
    expect(smtp.mails).toHaveLength(12)
    expect(held.most).toBe(expected)
  })

test('four connections to a provider that allows three are no error, and delay an email by seconds', async () => {
  smtp.limitConnections(3)
  const held = hold()
  const logged = async (text: string) =>
    (await Promise.all(servers.map((each) => each.logged(text)))).flat()
  const busy = () => logged('the mail server is busy')
  await queueMails(8)

  const sending = Promise.all(servers.map(sendDue))
  await expect
    .poll(async () => [held.count, (await busy()).length > 0])
    .toEqual([3, true])
  const [postponed] = await database.sql(
    `SELECT attempts, due_at BETWEEN now() AND now() + interval '15 seconds' AS soon
     FROM mails WHERE sent_at IS NULL AND attempts = 0 AND due_at > now()`,
  )
  expect(postponed).toEqual({ attempts: 0, soon: true })
  held.release()
  await sending

  const unsent = async () =>
    (await database.sql('SELECT 1 FROM mails WHERE sent_at IS NULL')).length
  const sendRest = async () => {
    // as if the seconds had passed
    await database.sql(
      'UPDATE mails SET due_at = now() WHERE attempts = 0 AND due_at > now()',
    )
    await Promise.all(servers.map(sendDue))
    return unsent()
  }
  await expect.poll(sendRest).toBe(0)
  expect(await database.sql('SELECT DISTINCT attempts FROM mails')).toEqual([
    { attempts: 1 },
  ])
  expect(smtp.mails).toHaveLength(8)

  for (const line of await busy())
    expect(line).toMatchObject({ level: 'warn', smtpCode: 421, attempt: 1 })
  expect(await logged('"level":"error"')).toEqual([])
})

test('a sender that finds the mail server busy leaves the other emails in the queue', async () => {
  smtp.limitConnections(1)
  const held = hold()
  await queueMails(1)
  const sending = sendDue(servers[0]!)
  await expect.poll(() => held.count).toBe(1)

  await queueMails(6)
  expect(await sendDue(servers[1]!)).toBeLessThanOrEqual(2) // one email for each connection
  const due = await database.sql(
    'SELECT 1 FROM mails WHERE attempts = 0 AND due_at <= now()',
  )
  expect(due.length).toBeGreaterThanOrEqual(4)
  held.release()
  await sending
})
