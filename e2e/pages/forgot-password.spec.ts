import { randomUUID } from 'node:crypto'
import { AxeBuilder } from '@axe-core/playwright'
import { expect, heading, newPassword, test } from '../support/fixtures'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { type Server, startServer } from '../support/server'
import { type Smtp, startSmtp } from '../support/smtp'

test.describe.configure({ mode: 'serial' }) // one outbox

let database: OwnDatabase
let smtp: Smtp
let server: Server

test.beforeAll(async () => {
  database = await openOwnDatabase()
  smtp = await startSmtp()
  server = await startServer({ DATABASE_URL: database.url(), ...smtp.settings })
})
test.afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
  await database?.drop()
})

async function newEmail(): Promise<string> {
  const email = `user-${randomUUID()}@example.com`
  await database.sql('INSERT INTO users (email) VALUES ($1)', [email])
  return email
}

test('from the home page to a new password and its notice', async ({ page }) => {
  const email = await newEmail()
  await page.goto(server.url)
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await expect(heading(page)).toHaveText('Get a link to choose a new password')
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])
  await page.getByLabel('Email address').fill(email.toUpperCase())
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(heading(page)).toHaveText('Check your email')
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])
  expect(page.url(), 'no address in the URL').toBe(`${server.url}/forgot-password?sent`)

  await expect.poll(() => smtp.mailsTo(email).length).toBe(1)
  const [mail] = smtp.mailsTo(email)
  await page.setContent(mail!.html!)
  await page.getByRole('link', { name: 'Choose a new password' }).click()
  await expect(heading(page)).toHaveText('Choose a new password')
  await page.getByLabel('New password').fill(newPassword())
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect.poll(() => smtp.mailsTo(email).length).toBe(2)
  const notice = smtp.mailsTo(email)[1]!
  expect(notice.subject).toBe('Your password for Dashboard was changed')
  expect(notice.text).toMatch(/This was on .* UTC, from Chrome on \w+\./)

  await page.goto(`${server.url}/reset-password?token=${mail!.token}`)
  await expect(heading(page)).toHaveText('This link has already been used')
  await page.getByRole('link', { name: 'Get a new link' }).click()
  await expect(page.getByLabel('Email address')).toBeVisible()
})

test('works without JavaScript, in German, and says what is wrong', async ({ browserProcess }) => {
  const email = await newEmail()
  const context = await browserProcess.newContext({ javaScriptEnabled: false, locale: 'de-DE' })
  const page = await context.newPage()
  await page.goto(`${server.url}/forgot-password`)
  await expect(heading(page)).toHaveText('Link für ein neues Passwort anfordern')
  await page.locator('form').evaluate((form: HTMLFormElement) => {
    form.noValidate = true
  })
  await page.getByLabel('E‑Mail-Adresse').fill('a@example.com, b@example.com')
  await page.getByRole('button', { name: 'Link senden' }).click()
  await expect(page.getByRole('alert')).toContainText('Geben Sie eine E‑Mail-Adresse ein')
  expect(page.url()).toBe(`${server.url}/forgot-password?invalid`)
  await page.getByLabel('E‑Mail-Adresse').fill(email)
  await page.getByRole('button', { name: 'Link senden' }).click()
  await expect(heading(page)).toHaveText('Sehen Sie in Ihr Postfach')
  await context.close()
  await expect.poll(() => smtp.mailsTo(email)[0]?.subject).toBe('Neues Passwort für Dashboard wählen')
})

test('a form of another site sends no mail', async ({ page }) => {
  const email = await newEmail()
  await page.route('http://127.0.0.1:1/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${server.url}/forgot-password/send"><input name="email" value="${email}"><button>Go</button></form>`,
    }),
  )
  await page.goto('http://127.0.0.1:1/')
  await page.getByRole('button').click()
  await expect(page.locator('body')).toContainText('ORIGIN_REJECTED')
  const { status } = await fetch(`${server.url}/forgot-password/send`, {
    method: 'POST',
    body: new URLSearchParams({ email }),
    headers: { Origin: 'https://example.com' },
  })
  expect(status).toBe(403)
  const other = await newEmail()
  await fetch(`${server.url}/forgot-password/send`, { method: 'POST', body: new URLSearchParams({ email: other }) })
  await expect.poll(() => smtp.mailsTo(other).length).toBe(1)
  expect(smtp.mailsTo(email)).toEqual([])
})

test('the mails are readable in both schemes and on a phone', async ({ page }) => {
  const newest = smtp.mails.filter(({ token }) => token).at(-1)!
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width: 320, height: 640 })
    await page.setContent(newest.html!)
    expect((await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa']).analyze()).violations).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
  }
})
