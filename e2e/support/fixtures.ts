import { randomInt, randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type BrowserContext, test as base, chromium, type Page } from 'playwright/test'
import { issueResetToken } from '../../lib/password/reset'
import { issueSsoCode } from '../../lib/sso/exchange'
import { documentedFetch } from './documented'

export { expect } from 'playwright/test'

export const secretsFile = fileURLToPath(new URL('../results/secrets', import.meta.url))

/** Notes a secret, so that the end of the run can look for it in every log. Returns it. */
export function keepSecret(secret: string): string {
  appendFileSync(secretsFile, `${secret}\n`)
  return secret
}

/** A one-time code for a person, as an SSO callback would make it. */
export async function newCode(person: Person): Promise<string> {
  return keepSecret((await issueSsoCode(person.id)).secret)
}

/** A reset token for a person, as a forgot-password mail would carry it. */
export async function newToken(person: Person): Promise<string> {
  return keepSecret((await issueResetToken(person.id)).secret)
}

/** A password that passes every rule, a different one each time. */
export function newPassword(): string {
  return keepSecret(`lantern ${randomUUID().slice(0, 8)} meadow`)
}

/** An address that no other test counts against. Documentation's 192.0.2.0/24 is too small: 10.0.0.0/8. */
export function newAddress(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`
}

export type Person = { id: string; email: string }
export type Answer = {
  status: number
  headers: Headers
  body: Record<string, unknown> & {
    code?: string
    issues?: { path: unknown[]; code: string; message: string }[]
    token?: string
    refreshToken?: string
  }
}

/** Posts JSON as a client at an address of its own does, and reads the answer, which has to be one that the OpenAPI document describes. */
export type Post = (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await documentedFetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
  })
  const parsed = (await answer.json()) as Answer['body']
  for (const secret of [parsed.token, parsed.refreshToken]) if (secret) keepSecret(secret)
  return { status: answer.status, headers: answer.headers, body: parsed }
}

export const exchange = '/api/auth/sso/exchange'
export const reset = '/api/auth/reset-password'

export type Sql = (text: string, values?: unknown[]) => Promise<Record<string, any>[]>

export const heading = (page: Page) => page.getByRole('heading', { level: 1 })

/** The addresses of the posts that a page sends from now on. */
export function countPosts(page: Page): string[] {
  const posts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request.url())
  })
  return posts
}

/** Holds back the scripts of a page until what it answers is called. */
export async function holdScripts(page: Page): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/_next/static/**', async (route) => {
    await released
    await route.continue()
  })
  return release
}

/** Makes the time limit of a post a sixtieth of what the page says, and answers what that was. */
export async function shortenTimeLimit(page: Page): Promise<() => Promise<number[]>> {
  await page.addInitScript(() => {
    const limits: number[] = []
    const timeout = AbortSignal.timeout
    AbortSignal.timeout = (ms) => {
      limits.push(ms)
      return timeout.call(AbortSignal, ms / 60)
    }
    Object.assign(window, { limits })
  })
  return () => page.evaluate(() => (window as unknown as { limits: number[] }).limits)
}

type Fixtures = { person: Person; post: Post; page: Page; context: BrowserContext }
type Shared = {
  url: string
  sql: Sql
  browserProcess: Awaited<ReturnType<typeof chromium.launch>>
}

export const test = base.extend<Fixtures, Shared>({
  /** The address of the server that all tests share. */
  url: [async ({}, use) => use(process.env.PUBLIC_URL!), { scope: 'worker' }],

  /** Looks into the database. */
  sql: [
    async ({}, use) => {
      const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 })
      await use(async (text, values) => (await pool.query(text, values)).rows)
      await pool.end()
    },
    { scope: 'worker' },
  ],

  /** Somebody new, without a password. */
  person: async ({ sql }, use) => {
    const email = `person-${randomUUID()}@example.com`
    const [row] = await sql('INSERT INTO users (email) VALUES ($1) RETURNING id, email', [email])
    await use(row as Person)
  },

  post: async ({ url }, use) => {
    const address = newAddress()
    await use((path, body, headers) => post(new URL(path, url).href, body, { 'X-Forwarded-For': address, ...headers }))
  },

  browserProcess: [
    async ({}, use) => {
      const args = [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ]
      const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH, args })
      await use(browser)
      await browser.close()
    },
    { scope: 'worker' },
  ],

  context: async ({ browserProcess, url }, use) => {
    const context = await browserProcess.newContext({
      baseURL: url,
      extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
    })
    await use(context)
    await context.close()
  },

  page: async ({ context }, use) => use(await context.newPage()),
})
