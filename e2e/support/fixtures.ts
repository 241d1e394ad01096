import type { ChildProcess } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type BrowserContext, test as base, chromium, type Page } from 'playwright/test'
import { issueSsoCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { issueResetToken } from '../../lib/password/reset'
import { closeContext } from './browsers/close-context'
import { documentedFetch } from './documents/documented'
import { keepSecret, newAddress } from './secrets'
import {
  beginFile,
  beginTest,
  endTest,
  findOrStart,
  stopServers,
} from './servers/kept-servers'
import { findLines, mailPort, type Server } from './servers/server'
import { type Smtp, startSmtp } from './servers/smtp'

export { expect } from 'playwright/test'

// Each worker has its own database and servers, so that files that run at the same time do
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

/**
 * Delays the scripts of a page until the returned function is called. `isHeld` selects
 * them by their text.
 */
export async function holdScripts(
  page: Page,
  isHeld?: (text: string) => boolean,
): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/_next/static/**', async (route) => {
    if (!isHeld || isHeld(await (await route.fetch()).text())) await released
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

/**
 * Starts a server with these settings, or returns the running one with equal settings.
 * The fixture stops the server. Without settings, it is the server at PUBLIC_URL.
 */
export type ServerWith = (settings?: Record<string, string>) => Promise<TestServer>

/** A server that other tests may use too. Requests come from the IP address of the test. */
export type TestServer = {
  url: string
  process: ChildProcess
  post: Post
  /** Throws unless the OpenAPI document describes the response. */
  get: (path: string, headers?: Record<string, string>) => Promise<Response>
  /** For responses that the OpenAPI document does not describe. */
  fetch: (path: string, init?: Init) => Promise<Response>
  /** Returns what was printed since the test or `beforeAll` asked for the server. */
  output: () => Promise<string>
  /** Returns the lines of this part of the log that contain a text. */
  logged: (text: string) => Promise<Record<string, any>[]>
}
type Init = RequestInit & { headers?: Record<string, string> }

function asTestServer(server: Server, printedBefore: number): TestServer {
  const { url, process } = server
  const toUrl = (path: string) => new URL(path, url).href
  const addAddress = (headers = {}) => ({ 'X-Forwarded-For': testAddress(), ...headers })
  const output = async () => {
    const lines = (await readOutput(server)).slice(printedBefore).split('\n')
    return lines.filter((line) => !line.includes(endMark)).join('\n')
  }

  return {
    url,
    process,
    post: (path, body, headers) => postTo(toUrl(path), body, addAddress(headers)),
    get: (path, headers) =>
      documentedFetch(toUrl(path), { headers: addAddress(headers) }),
    fetch: (path, { headers, ...init } = {}) =>
      fetch(toUrl(path), { ...init, headers: addAddress(headers) }),
    output,
    logged: async (text) => findLines(await output(), text),
  }
}

let lastTest = { testId: '', address: '' }

/** Returns the IP address of the clients of this test. No other test uses it. */
function testAddress(): string {
  const { testId } = base.info()
  if (testId !== lastTest.testId) lastTest = { testId, address: newAddress() }
  return lastTest.address
}

const endMark = 'end-of-output-'

/**
 * Returns the output of a server, at least up to now. It may arrive after the response to
 * a request, so this sends another request and waits for its line.
 */
async function readOutput({ url, output }: Server): Promise<string> {
  const marker = endMark + randomBytes(8).toString('hex')
  const headers = { 'X-Request-Id': marker, 'X-Forwarded-For': newAddress() }
  await fetch(url + routes.getHealth.path, { headers })
  while (!output().includes(marker)) await sleep(1)
  return output()
}

/** What an exchange returns. */
export type Tokens = { token: string; refreshToken: string }

type Fixtures = {
  user: User
  post: Post
  signedIn: Tokens
  page: Page
  context: BrowserContext
  running: undefined
}
type Shared = {
  serverWith: ServerWith
  url: string
  smtp: Smtp
  sql: Sql
  browserProcess: Awaited<ReturnType<typeof chromium.launch>>
}

export const test = base.extend<Fixtures, Shared>({
  serverWith: [
    async ({}, use) => {
      await use(async (settings) => {
        await beginFile(base.info().file)
        const { server, printedBefore } = await findOrStart(settings)
        return asTestServer(server, printedBefore)
      })
      await stopServers()
    },
    { scope: 'worker', auto: true },
  ],

  running: [
    async ({}, use, { file }) => {
      await beginTest(file)
      await use(undefined)
      await endTest()
    },
    { auto: true },
  ],

  /** The URL of the server without settings, which most tests share. */
  url: [
    async ({ serverWith }, use) => use((await serverWith()).url),
    { scope: 'worker', timeout: 60_000 }, // so that the first test has its whole time
  ],

  /** Receives the emails of servers with `allFeatures`. */
  smtp: [
    async ({}, use) => {
      const smtp = await startSmtp({ listenOn: mailPort })
      await use(smtp)
      await smtp.stop()
    },
    { scope: 'worker' },
  ],

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

  // depends on `url`, which has time to start the server
  post: async ({ serverWith, url: _ }, use) => use((await serverWith()).post),

  /** The tokens of a browser in which the user has signed in. */
  signedIn: async ({ post, user }, use) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    await use(body as Tokens)
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
    await closeContext(context)
  },

  page: async ({ context }, use) => use(await context.newPage()),
})
