import { randomBytes } from 'node:crypto'
import { exchangePath, expect, heading, newCode, newPassword, postTo, test } from '../support/fixtures'
import { type OpenSmtpd, startOpenSmtpd } from '../support/opensmtpd'
import { type Server, startServer } from '../support/server'

// A whole recovery, through a mail server that nobody here wrote.

test.skip(process.getuid?.() !== 0, 'OpenSMTPD starts only as root: sudo npm run test:sso')
test.describe.configure({ mode: 'default' }) // one after the other: only one can run at a time

let domain: string
let smtpd: OpenSmtpd
let server: Server

test.beforeAll(async () => {
  domain = `mail-${randomBytes(6).toString('hex')}.example`
  smtpd = await startOpenSmtpd(domain)
  server = await startServer(smtpd.settings)
})
test.afterAll(async () => {
  await server?.stop()
  await smtpd?.stop()
})

test('OpenSMTPD: forgotten, mailed, new password, notice', async ({ page, sql }) => {
  const email = `ada@${domain}`
  const [user] = await sql('INSERT INTO users (email) VALUES ($1) RETURNING id, email', [email])
  const { id } = user as { id: string }
  const code = await newCode({ id, email })
  expect((await postTo(`${server.url}${exchangePath}`, { code })).status).toBe(200) // a session from before

  await page.goto(`${server.url}/forgot-password`)
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(heading(page)).toHaveText('Check your email')

  await expect.poll(async () => (await smtpd.mailsTo(email)).length, { timeout: 60_000 }).toBe(1)
  const [mail] = await smtpd.mailsTo(email)
  expect(mail).toMatchObject({ from: { address: 'login@example.com' }, to: [{ address: email }] })
  const link = mail!.text!.match(/http\S+\/reset-password\?token=\S+/)![0]
  expect(link.startsWith(server.url)).toBe(true)
  await page.goto(link)
  await expect(heading(page)).toHaveText('Choose a new password')
  await page.getByLabel('New password').fill(newPassword())
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')

  await expect.poll(async () => (await smtpd.mailsTo(email)).length, { timeout: 60_000 }).toBe(2)
  const [, notice] = await smtpd.mailsTo(email)
  expect(notice!.subject).toBe('Your password for Dashboard was changed')
  expect(notice!.text).not.toContain('token=')

  expect(
    await sql(
      'SELECT password_hash IS NOT NULL AS has_password, password_changed_at > created_at AS changed FROM users WHERE id = $1',
      [id],
    ),
  ).toEqual([{ has_password: true, changed: true }])
  expect(await sql('SELECT used_at IS NOT NULL AS used FROM reset_tokens WHERE user_id = $1', [id])).toEqual([
    { used: true },
  ])
  expect(await sql('SELECT revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1', [id])).toEqual([
    { revoked: true },
  ])
  expect(
    await sql('SELECT kind, sent_at IS NOT NULL AS sent FROM mails WHERE user_id = $1 ORDER BY requested_at', [id]),
  ).toEqual([
    { kind: 'reset', sent: true },
    { kind: 'password-changed', sent: true },
  ])
})

test('OpenSMTPD: a recipient that it rejects is not tried again', async ({ page, sql }) => {
  const email = `ada@elsewhere-${randomBytes(6).toString('hex')}.example`
  const [user] = await sql('INSERT INTO users (email) VALUES ($1) RETURNING id', [email])
  await page.goto(`${server.url}/forgot-password`)
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(heading(page)).toHaveText('Check your email') // as for any other address
  const readMails = () =>
    sql('SELECT attempts, sent_at, gave_up_at IS NOT NULL AS gave_up FROM mails WHERE user_id = $1', [user!.id])
  await expect.poll(readMails, { timeout: 60_000 }).toEqual([{ attempts: 1, sent_at: null, gave_up: true }])
  expect(await sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user!.id])).toEqual([])
  const line = server
    .output()
    .split('\n')
    .find((text) => text.includes('a mail was given up'))
  expect(JSON.parse(line!)).toMatchObject({ mail: 'reset', attempt: 1, smtpCode: 550 })
})
