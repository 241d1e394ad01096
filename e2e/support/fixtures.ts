import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type BrowserContext, test as base, chromium, type Page } from 'playwright/test'
import { issueSsoCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { issueResetToken } from '../../lib/password/reset'
import { documentedFetch } from './documents/documented'
import { keepSecret, newAddress } from './secrets'

export { expect } from 'playwright/test'

// Each worker has its own database and server, so that files that run at the same time do
// not affect each other.
const { SETTINGS_OF_WORKERS, TEST_PARALLEL_INDEX } = process.env
if (SETTINGS_OF_WORKERS && TEST_PARALLEL_INDEX) {
  Object.assign(process.env, JSON.parse(SETTINGS_OF_WORKERS)[TEST_PARALLEL_INDEX])
  // programs that tests start have settings of their own
  delete process.env.SETTINGS_OF_WORKERS
}

/** Issues an exchange code for a user, as an SSO callback does. */
export async function newCode(user: User): Promise<string> {
  return keepSecret((await issueSsoCode(user.id)).secret)
}

/** Issues a reset token for a user, as a forgot-password email does. */
export async function newToken(user: User): Promise<string> {
  return keepSecret((await issueResetToken(user.id)).secret)
}

/** A new password that passes all rules. */
export function newPassword(): string {
  return keepSecret(`lantern ${randomUUID().slice(0, 8)} meadow`)
}

export type User = { id: string; email: string }
export type ApiResponse = {
  status: number
  headers: Headers
  body: Record<string, unknown> &
    Partial<
      Record<
        'code' | 'token' | 'refreshToken' | 'challenge' | 'enrolment' | 'secret' | 'uri',
        string
      >
    > & {
      issues?: { path: unknown[]; code: string; message: string }[]
      recoveryCodes?: string[]
    }
}

/**
 * Posts JSON, by default from one IP address per test. Throws unless the OpenAPI document
 * describes the response.
 */
export type Post = (
  path: string,
  body: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse>

export async function postTo(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const response = await documentedFetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body:
      typeof body === 'string' || body instanceof Uint8Array
        ? (body as BodyInit)
        : JSON.stringify(body),
  })
  const parsed = (await response.json()) as ApiResponse['body']
  const {
    token,
    refreshToken,
    challenge,
    enrolment,
    secret,
    uri,
    recoveryCodes = [],
  } = parsed
  for (const each of [
    token,
    refreshToken,
    challenge,
    enrolment,
    secret,
    uri,
    ...recoveryCodes,
  ])
    if (each) keepSecret(each)
  return { status: response.status, headers: response.headers, body: parsed }
}

/** Returns the cookies that a response sets, as a browser would send them. */
export function cookiesOf({ headers }: { headers: Headers }): Record<string, string> {
  const pairs = headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0]!.split('=') as [string, string])
  for (const [, value] of pairs) keepSecret(value)
  return Object.fromEntries(pairs)
}

export const exchangePath = routes.exchangeSsoCode.path
export const resetPath = routes.resetPassword.path

export type Sql = (text: string, values?: unknown[]) => Promise<Record<string, any>[]>

/** Creates users without a password. */
export async function newUsers(sql: Sql, count: number): Promise<User[]> {
  const email = `gen_random_uuid() || '@example.com'`
  return (await sql(
    `INSERT INTO users (email, email_domain) SELECT ${email}, 'example.com' FROM generate_series(1, $1) RETURNING id, email`,
    [count],
  )) as User[]
}

export const heading = (page: Page) => page.getByRole('heading', { level: 1 })

/** Collects the URLs of all POST requests that a page sends from now on. */
export function countPosts(page: Page): string[] {
  const posts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request.url())
  })
  return posts
}

/** Delays the scripts of a page until the returned function is called. */
export async function holdScripts(page: Page): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/_next/static/**', async (route) => {
    await released
    await route.continue()
  })
  return release
}

/**
 * Divides the time limits of a page's requests by 60. No other timer of a page takes 20
 * seconds or more. The returned function returns the original limits.
 */
export async function shortenTimeLimit(page: Page): Promise<() => Promise<number[]>> {
  await page.addInitScript(() => {
    const limits: number[] = []
    const { setTimeout } = window
    const shortened = (handler: TimerHandler, ms = 0, ...rest: unknown[]) => {
      if (ms < 20_000) return setTimeout(handler, ms, ...rest)
      limits.push(ms)
      return setTimeout(handler, ms / 60, ...rest)
    }
    Object.assign(window, { limits, setTimeout: shortened })
  })
  return () => page.evaluate(() => (window as unknown as { limits: number[] }).limits)
}

type Fixtures = { user: User; post: Post; page: Page; context: BrowserContext }
type Shared = {
  url: string
  sql: Sql
  browserProcess: Awaited<ReturnType<typeof chromium.launch>>
}

export const test = base.extend<Fixtures, Shared>({
  /** The URL of the server that all tests of a worker share. */
  url: [async ({}, use) => use(process.env.PUBLIC_URL!), { scope: 'worker' }],

  /** Queries the database. */
  sql: [
    async ({}, use) => {
      const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 })
      await use(async (text, values) => (await pool.query(text, values)).rows)
      await pool.end()
    },
    { scope: 'worker' },
  ],

  /** A new user without a password. */
  user: async ({ sql }, use) => {
    const email = `user-${randomUUID()}@example.com`
    const [row] = await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id, email`,
      [email],
    )
    await use(row as User)
  },

  post: async ({ url }, use) => {
    const address = newAddress()
    await use((path, body, headers) =>
      postTo(new URL(path, url).href, body, { 'X-Forwarded-For': address, ...headers }),
    )
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
      const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM_PATH!,
        args,
      })
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
