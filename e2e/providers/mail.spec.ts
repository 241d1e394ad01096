import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright/test'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { newPasswordUser } from '../support/databases/password-user'
import { expect, heading, newPassword, test } from '../support/fixtures'
import { type OpenSmtpd, startOpenSmtpd } from '../support/servers/opensmtpd'
import { type Server, startServer } from '../support/servers/server'

// Tests a complete password recovery through a third-party mail server.

let domain: string
let smtpd: OpenSmtpd
let server: Server
// it has no connections, so the sign-in page asks for the password immediately
let database: OwnDatabase

test.beforeAll(async () => {
  database = await openOwnDatabase()
  domain = `mail-${randomBytes(6).toString('hex')}.example`
  smtpd = await startOpenSmtpd(domain)
  server = await startServer({
    ...smtpd.settings,
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
  })
})
test.afterAll(async () => {
  await server?.stop()
  await smtpd?.stop()
  await database?.drop()
})

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto(`${server.url}/sign-in`)
  await page.getByRole('textbox', { name: 'Email address' }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('OpenSMTPD: delivers the reset link and the notice, and the user signs in again', async ({
  page,
}) => {
  const { sql } = database
  const email = `ada@${domain}`
  const { id, password: old } = await newPasswordUser(sql, { email })
  await signIn(page, email, old) // this session started before the reset
  await expect(heading(page)).toHaveText('You’re signed in')
  await page.context().clearCookies()

  await page.goto(`${server.url}/forgot-password`)
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await expect(heading(page)).toHaveText('Check your email')

  await expect
    .poll(async () => (await smtpd.mailsTo(email)).length, { timeout: 60_000 })
    .toBe(1)
  const [mail] = await smtpd.mailsTo(email)
  expect(mail).toMatchObject({
    from: { address: 'login@example.com' },
    to: [{ address: email }],
  })
  const link = mail!.text!.match(/http\S+\/reset-password\?token=\S+/)![0]
  expect(link.startsWith(server.url)).toBe(true)
  const changed = newPassword()
  await page.goto(link)
  await expect(heading(page)).toHaveText('Choose a new password')
  await page.getByLabel('New password').fill(changed)
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')

  await expect
    .poll(async () => (await smtpd.mailsTo(email)).length, { timeout: 60_000 })
    .toBe(2)
  const [, notice] = await smtpd.mailsTo(email)
  expect(notice!.subject).toBe('Your password for Dashboard was changed')
  expect(notice!.text).not.toContain('token=')

  await signIn(page, email, old)
  await expect(page.getByText('The email address or the password is wrong')).toBeVisible()
  await signIn(page, email, changed)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(email)).toBeVisible()

  expect(
    await sql(
      'SELECT password_changed_at > created_at AS changed FROM users WHERE id = $1',
      [id],
    ),
  ).toEqual([{ changed: true }])
  expect(
    await sql('SELECT used_at IS NOT NULL AS used FROM reset_tokens WHERE user_id = $1', [
      id,
    ]),
  ).toEqual([{ used: true }])
  expect(
    await sql(
      'SELECT revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1 ORDER BY created_at',
      [id],
    ),
  ).toEqual([{ revoked: true }, { revoked: false }])
  const mails = () =>
    sql(
      'SELECT kind, sent_at IS NOT NULL AS sent FROM mails WHERE user_id = $1 ORDER BY requested_at',
      [id],
    )
  await expect
    .poll(mails, { timeout: 60_000 })
    .toEqual(
      ['reset', 'password-changed', 'new-device'].map((kind) => ({ kind, sent: true })),
    )
})

test('OpenSMTPD: an email is not retried if the recipient is rejected', async ({
  page,
}) => {
  const { sql } = database
  const email = `ada@elsewhere-${randomBytes(6).toString('hex')}.example`
  const [user] = await sql(
    `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id`,
    [email],
  )
  await page.goto(`${server.url}/forgot-password`)
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await expect(heading(page)).toHaveText('Check your email') // the page is the same for every address
  const readMails = () =>
    sql(
      'SELECT attempts, sent_at, gave_up_at IS NOT NULL AS gave_up FROM mails WHERE user_id = $1',
      [user!.id],
    )
  await expect
    .poll(readMails, { timeout: 60_000 })
    .toEqual([{ attempts: 1, sent_at: null, gave_up: true }])
  expect(await sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user!.id])).toEqual(
    [],
  )
  expect(server.logged('an email was given up')[0]).toMatchObject({
    mail: 'reset',
    attempt: 1,
    smtpCode: 550,
  })
})
