import { createHash, randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'

const userCount = 30
const cronSecret = keepSecret(`cron-${randomUUID()}`)

test('the newest link of each user is valid even if one of five senders is killed and a third of the attempts fail', async () => {
  const database = await openOwnDatabase()
  const { sql } = database
  const smtp = await startSmtp()
  const servers: Server[] = []
  const start = async () => {
    servers.push(
      await startServer({
        DATABASE_URL: database.url(),
        CRON_SECRET: cronSecret,
        ...smtp.settings,
      }),
    )
    return servers.at(-1)!
  }
  const emails = Array.from(
    { length: userCount },
    () => `user-${randomUUID()}@example.com`,
  )
  await sql(
    `INSERT INTO users (email, email_domain) SELECT email, split_part(email, '@', 2) FROM unnest($1::text[]) AS email`,
    [emails],
  )
  const forgot = (server: Server, email: string) =>
    postTo(
      server.url + routes.forgotPassword.path,
      { email },
      { 'X-Forwarded-For': newAddress() },
    )
  try {
    // The first sender is killed after the mail server has accepted an email and before
    // the sender gets the response.
    const killed = await start()
    const isAccepting = new Promise<void>((resolve) =>
      smtp.beforeAccepting(async () => {
        if (killed.process.killed) return
        killed.process.kill('SIGKILL')
        resolve()
      }),
    )
    await forgot(killed, emails[0]!)
    await isAccepting
    await expect.poll(() => smtp.mails.length).toBe(1)
    expect((await sql('SELECT attempts, sent_at FROM mails'))[0]).toEqual({
      attempts: 1,
      sent_at: null,
    })
    await sql('UPDATE mails SET due_at = now()') // as if two minutes had passed

    let attempts = 0
    smtp.respondWith((stage) =>
      ++attempts && Math.random() < 0.2 ? (stage === 'RCPT' ? 451 : 452) : undefined,
    )
    await Promise.all([start(), start(), start(), start()])
    const senders = servers.slice(1)
    const sendDue = () =>
      Promise.all(
        senders.map(({ url }) =>
          fetch(`${url}/api/cron/mail`, {
            headers: {
              Authorization: `Bearer ${cronSecret}`,
              'X-Forwarded-For': newAddress(),
            },
          }),
        ),
      )
    for (let request = 0; request < 2; request++) {
      await Promise.all(
        emails.map((email, index) => forgot(senders[index % senders.length]!, email)),
      )
      // Not the emails of the round before, which were requested two minutes earlier.
      const enough = `SELECT count(DISTINCT user_id)::int AS users FROM mails
        WHERE requested_at > now() - interval '1 minute'`
      await expect.poll(async () => (await sql(enough))[0]!.users).toBe(userCount)
      await expect
        .poll(
          async () => {
            // As if time had passed for queued emails, but not for emails that a sender
            // has claimed.
            await sql(`UPDATE mails SET due_at = now()
              WHERE due_at > now() + interval '121 s' OR due_at BETWEEN now() + interval '1 s' AND now() + interval '61 s'`)
            await sendDue()
            return (
              await sql(
                'SELECT count(*)::int AS waiting FROM mails WHERE sent_at IS NULL',
              )
            )[0]!.waiting
          },
          { timeout: 120_000 },
        )
        .toBe(0)
      await sql(`UPDATE mails SET requested_at = requested_at - interval '2 minutes'`)
    }

    expect(attempts).toBeGreaterThan(userCount * 2)
    expect(smtp.mails.length).toBeGreaterThanOrEqual(userCount * 2)
    expect(smtp.mailsTo(emails[0]!).length, 'one of a sender that died').toBeGreaterThan(
      1,
    )
    const stored = await sql(
      'SELECT email, token_hash FROM users JOIN reset_tokens ON user_id = id',
    )
    for (const email of emails) {
      const token = smtp.mailsTo(email).at(-1)?.token
      expect(token, email).toBeTruthy()
      const hash = createHash('sha256').update(token!).digest()
      expect(
        stored.find((row) => row.email === email)!.token_hash.equals(hash),
        email,
      ).toBe(true)
    }
    const { token } = smtp.mailsTo(emails[0]!).at(-1)!
    const body = { token, password: newPassword() }
    expect(
      (
        await postTo(senders[0]!.url + resetPath, body, {
          'X-Forwarded-For': newAddress(),
        })
      ).status,
    ).toBe(200)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await smtp.stop()
    await database.drop()
  }
})
