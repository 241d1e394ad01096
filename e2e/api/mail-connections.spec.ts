import { randomUUID } from 'node:crypto'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'
import { type Smtp, startSmtp } from '../support/servers/smtp'

// Tests how many connections the app opens to the mail server, and what it does if they
// are too many.

const cronSecret = keepSecret(`cron-${randomUUID()}`)
let database: OwnDatabase
test.beforeEach(async () => {
  database = await openOwnDatabase()
})
test.afterEach(() => database.drop())

const start = (smtp: Smtp, settings: Record<string, string> = {}) =>
  startServer({
    DATABASE_URL: database.url(),
    CRON_SECRET: cronSecret,
    ...smtp.settings,
    ...settings,
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
async function sendDue({ url }: Server): Promise<number> {
  const response = await fetch(`${url}/api/cron/mail`, {
    headers: { Authorization: `Bearer ${cronSecret}`, 'X-Forwarded-For': newAddress() },
  })
  return (await response.json()).tried
}

/** Delays the responses of a mail server until `release` is called. */
function hold(smtp: Smtp) {
  const held = { count: 0, most: 0, release: () => {} }
  const released = new Promise<void>((resolve) => (held.release = resolve))
  smtp.beforeAccepting(async () => {
    held.most = Math.max(held.most, ++held.count)
    await released
    held.count--
  })
  return held
}

for (const [setting, settings, expected] of [
  ['by default', {}, 2],
  ['with SMTP_MAX_CONNECTIONS=1', { SMTP_MAX_CONNECTIONS: '1' }, 1],
  ['with SMTP_MAX_CONNECTIONS=5', { SMTP_MAX_CONNECTIONS: '5' }, 5],
] as const)
  test(`${setting}, a process has at most ${expected} connections to the mail server`, async () => {
    const smtp = await startSmtp()
    const server = await start(smtp, settings)
    const held = hold(smtp)
    await queueMails(12)
    const sending = sendDue(server)
    await expect.poll(() => held.count).toBe(expected)
    held.release()
    await sending
    expect(smtp.mails).toHaveLength(12)
    expect(held.most).toBe(expected)
    await server.stop()
    await smtp.stop()
  })

test('four connections to a provider that allows three are no error, and delay an email by seconds', async () => {
  const smtp = await startSmtp({ maxConnections: 3 })
  const servers = [await start(smtp), await start(smtp)]
  const held = hold(smtp)
  const busy = () => servers.flatMap(({ logged }) => logged('the mail server is busy'))
  await queueMails(8)

  const sending = Promise.all(servers.map(sendDue))
  await expect.poll(() => [held.count, busy().length > 0]).toEqual([3, true])
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

  await Promise.all(servers.map((server) => server.stop()))
  await smtp.stop()
  for (const line of busy())
    expect(line).toMatchObject({ level: 'warn', smtpCode: 421, attempt: 1 })
  for (const { logged } of servers) expect(logged('"level":"error"')).toEqual([])
})

test('a sender that finds the mail server busy leaves the other emails in the queue', async () => {
  const smtp = await startSmtp({ maxConnections: 1 })
  const servers = [await start(smtp), await start(smtp)] as const
  const held = hold(smtp)
  await queueMails(1)
  const sending = sendDue(servers[0])
  await expect.poll(() => held.count).toBe(1)

  await queueMails(6)
  expect(await sendDue(servers[1])).toBeLessThanOrEqual(2) // one email for each connection
  const due = await database.sql(
    'SELECT 1 FROM mails WHERE attempts = 0 AND due_at <= now()',
  )
  expect(due.length).toBeGreaterThanOrEqual(4)
  held.release()
  await sending

  await Promise.all(servers.map((server) => server.stop()))
  await smtp.stop()
})
