import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import * as routes from '../../lib/contract/routes'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import {
  expect,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { type Smtp, startSmtp } from '../support/servers/smtp'

test.describe.configure({ mode: 'serial' }) // the tests share one outbox

const cronSecret = keepSecret(`cron-${randomUUID()}`)
const firefox =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

let database: OwnDatabase
let smtp: Smtp
let server: TestServer
let second: TestServer

const prompt = preload('cheap-hash.mjs', 'prompt-mails.mjs')

test.beforeAll(async ({ serverWith }) => {
  ;[database, smtp] = await Promise.all([openOwnDatabase(), startSmtp()])
  const own = { DATABASE_URL: database.url(), CRON_SECRET: cronSecret }
  const settings = { ...own, ...smtp.settings, ...prompt }
  server = await serverWith(settings)
  // so that both servers send the same links
  second = await serverWith({ ...settings, PUBLIC_URL: server.url })
})
test.afterAll(async () => {
  await smtp?.stop()
  await database?.drop()
})
test.afterEach(async () => {
  smtp.respondWith(() => undefined)
  smtp.beforeAccepting(async () => {})
  await database.sql('DELETE FROM mails')
})

/**
 * Polls more often than `expect.poll` does by default, because tests wait for many
 * emails.
 */
const poll = <Value>(look: () => Value | Promise<Value>, message = '') =>
  expect.poll(look, { message, intervals: [50] })
const logged = async () => (await server.output()) + (await second.output())
const newEmail = () => `user-${randomUUID()}@example.com`

type NewUser = { id: string; email: string }

async function newUser(columns = '', values = '', email = newEmail()): Promise<NewUser> {
  const insert = `INSERT INTO users (email, email_domain${columns}) VALUES ($1, split_part($1, '@', 2)${values}) RETURNING id, email`
  return (await database.sql(insert, [email]))[0] as NewUser
}

const forgot = (email: unknown, headers: Record<string, string> = {}, at = server) =>
  at.post(routes.forgotPassword.path, { email }, headers)
const reset = (token: string, headers: Record<string, string> = {}) =>
  server.post(resetPath, { token, password: newPassword() }, headers)

/**
 * Sends the due emails, as Vercel’s cron job does. Returns how many emails it tried to
 * send.
 */
async function sendDue(url = server.url): Promise<number> {
  const response = await fetch(`${url}/api/cron/mail`, {
    headers: { Authorization: `Bearer ${cronSecret}`, 'X-Forwarded-For': newAddress() },
  })
  return ((await response.json()) as { tried: number }).tried
}

/** Waits until the work that follows the previous responses is done. */
async function settled(): Promise<void> {
  await sleep(10) // the longest delay before an email is queued, with prompt-mails.mjs
  for (const each of [server, second]) {
    const marker = await newUser()
    await forgot(marker.email, {}, each)
    await poll(async () => (await mailsOf(marker)).length).toBe(1)
  }
}

const mailsOf = (user: NewUser) =>
  database.sql(
    'SELECT kind, attempts, due_at, sent_at, gave_up_at, device, language FROM mails WHERE user_id = $1',
    [user.id],
  )
const noticeTo = async (user: NewUser) =>
  (await mailsOf(user)).find(({ kind }) => kind === 'password-changed')
const wasSent = async (user: NewUser) => Boolean((await mailsOf(user))[0]?.sent_at)

/**
 * Waits until the server has recorded that it has sent so many emails to a user, which it
 * does after they have arrived. Before that, it ignores another request.
 */
const recordedAsSent = (user: NewUser, count: number) =>
  poll(async () => (await mailsOf(user)).filter((mail) => mail.sent_at).length).toBe(
    count,
  )

/** Requests a reset email, and returns its token. */
async function tokenFor(user: NewUser): Promise<string> {
  await forgot(user.email)
  await recordedAsSent(user, 1)
  return smtp.mailsTo(user.email)[0]!.token!
}

/** Sends the emails that wait for a retry. */
async function retryNow(user: NewUser): Promise<void> {
  await makeDue(user)
  await sendDue()
  await attemptEnded(user)
}

/**
 * Waits until no sender has claimed the user's email. `sendDue` does not wait for emails
 * that others have claimed.
 */
async function attemptEnded(user: NewUser): Promise<void> {
  const claimed = `SELECT 1 FROM mails WHERE user_id = $1 AND due_at BETWEEN now() + interval '61 seconds' AND now() + interval '2 minutes'`
  await poll(async () => (await database.sql(claimed, [user.id])).length).toBe(0)
}
const makeDue = (user: NewUser) =>
  database.sql(
    'UPDATE mails SET due_at = now() WHERE user_id = $1 AND due_at IS NOT NULL',
    [user.id],
  )
const age = (user: NewUser, interval: string) =>
  database.sql(
    'UPDATE mails SET requested_at = requested_at - $2::interval WHERE user_id = $1',
    [user.id, interval],
  )

/**
 * Requests an email. The mail server rejects the first attempt before the content of the
 * email is sent.
 */
async function forgotRejected(user: NewUser): Promise<void> {
  smtp.respondWith((stage) => (stage === 'RCPT' ? 451 : undefined))
  await forgot(user.email)
  const waiting = `SELECT 1 FROM mails WHERE user_id = $1 AND attempts = 1 AND due_at BETWEEN now() AND now() + interval '90 seconds'`
  await poll(async () => (await database.sql(waiting, [user.id])).length).toBe(1)
  smtp.respondWith(() => undefined)
}

/** Queues emails for new users with these addresses. After attempts, they are not due. */
const queueMails = (to: OwnDatabase, emails: string[], kind = 'reset', attempts = 0) =>
  to.sql(
    `WITH created AS (INSERT INTO users (email, email_domain) SELECT email, split_part(email, '@', 2) FROM unnest($1::text[]) AS email RETURNING id)
     INSERT INTO mails (kind, user_id, language, attempts, due_at)
       SELECT $2, id, 'en', $3::int, now() + $3::int * interval '5 minutes' FROM created`,
    [emails, kind, attempts],
  )

/**
 * Opens a transaction, runs the statement `lock`, calls `act`, and commits the
 * transaction.
 */
async function whileLocked(
  lock: string,
  values: unknown[],
  act: (holder: pg.Client) => Promise<void>,
): Promise<void> {
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query(lock, values)
    await act(holder)
    await holder.query('COMMIT')
  } finally {
    await holder.end()
  }
}

/**
 * Requests an email, and waits until a lock of `holder` blocks the work of the request.
 */
async function forgotWaitsFor(holder: pg.Client, user: NewUser): Promise<void> {
  const { rows } = await holder.query('SELECT pg_backend_pid() AS pid')
  await forgot(user.email)
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))'
  await poll(async () => (await database.sql(waiting, [rows[0].pid])).length).toBe(1)
}

test('emails a reset link, and a notice after the reset, and stores no address and no secret in the queue', async () => {
  const user = await newUser()
  const { status, body } = await forgot(user.email.toUpperCase(), {
    'User-Agent': firefox,
  })
  expect([status, body]).toEqual([200, { ok: true }])
  await poll(() => wasSent(user)).toBe(true)
  const [mail] = smtp.mailsTo(user.email)
  expect([mail!.from, mail!.to]).toEqual(['login@example.com', [user.email]])
  expect(mail!.subject).toBe('Choose a new password for Dashboard')
  expect(mail!.text).toContain(`${server.url}/reset-password?token=${mail!.token}`)
  expect(mail!.text).toMatch(
    /The link works once, for 1 hour from when this email was sent/,
  )
  expect(mail!.text).toMatch(
    /Requested on \w+ \d+, \d{4} at \d+:\d\d\s[AP]M UTC, from Firefox on Windows\./,
  )
  expect(mail!.html).toContain(`>${server.url}/reset-password?token=${mail!.token}<`)
  const headers = Object.fromEntries(mail!.headers.map(({ key, value }) => [key, value]))
  expect(headers).toMatchObject({
    'auto-submitted': 'auto-generated',
    'x-auto-response-suppress': 'All',
    from: 'Dashboard <login@example.com>',
  })
  expect(mail!.messageId).toMatch(/^<[\w-]+@localhost>$/)
  expect(mail!.html).not.toMatch(/<img|<script|src=|@import|url\(/)

  const [row] = await database.sql('SELECT * FROM mails WHERE user_id = $1', [user.id])
  expect(row).toMatchObject({
    kind: 'reset',
    language: 'en',
    device: 'Firefox on Windows',
    attempts: 1,
    due_at: null,
  })
  expect(JSON.stringify(row)).not.toContain(user.email)

  expect(
    (await reset(mail!.token!, { 'User-Agent': firefox, 'Accept-Language': 'de' }))
      .status,
  ).toBe(200)
  await poll(() => smtp.mailsTo(user.email).length).toBe(2)
  const notice = smtp.mailsTo(user.email)[1]!
  expect([notice.subject, notice.token]).toEqual([
    'Ihr Passwort für Dashboard wurde geändert',
    undefined,
  ])
  expect(notice.text).toMatch(
    /Geändert am \d+\. \p{L}+ \d{4} um \d+:\d\d UTC mit Firefox unter Windows\./u,
  )
  expect(notice.text).toContain(`${server.url}/forgot-password`)
  expect((await reset(mail!.token!)).status).toBe(400)
})

test('responds for unknown and disabled users as for other users, but emails only the other users', async () => {
  const users = [
    { id: randomUUID(), email: newEmail() },
    await newUser(', disabled_at', ', now()'),
    await newUser(', disabled_at, password_policy', `, now(), 'never'`),
  ]
  for (const { email } of users) {
    const { status, body } = await forgot(email)
    expect([status, body]).toEqual([200, { ok: true }])
  }
  await settled()
  for (const user of users) expect(await mailsOf(user)).toEqual([])
})

test('a user restricted to SSO gets a sign-in link without a token, within the limits of reset emails', async () => {
  const user = await newUser(', password_policy', `, 'never'`)
  expect((await forgot(user.email, { 'User-Agent': firefox })).body).toEqual({ ok: true })
  await poll(() => wasSent(user)).toBe(true)
  const [mail] = smtp.mailsTo(user.email)
  expect(mail!.subject).toBe('Sign in to Dashboard with your organization')
  expect(mail!.text).toContain(`${server.url}/sign-in\n`)
  expect(mail!.text).toContain('Firefox on Windows')
  expect(mail!.raw).not.toMatch(/token=/)
  expect(
    await database.sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user.id]),
  ).toEqual([])
  await forgot(user.email.toUpperCase(), { 'Accept-Language': 'de' })
  await settled()
  expect(await mailsOf(user), 'one in a minute').toHaveLength(1)

  await age(user, '2 minutes')
  await database.sql('UPDATE users SET password_policy = NULL WHERE id = $1', [user.id])
  await forgot(user.email, { 'Accept-Language': 'de' })
  await recordedAsSent(user, 2)
  expect(
    smtp.mailsTo(user.email)[1]!.token,
    'an exempted user gets a reset link',
  ).toBeTruthy()
  await age(user, '2 minutes')
  await forgot(user.email)
  await recordedAsSent(user, 3)
  await age(user, '2 minutes')
  await forgot(user.email)
  await settled()
  expect(await mailsOf(user), 'three in an hour, of both kinds').toHaveLength(3)
})

/** Adds a connection that is live for a domain of its own, and links the user to it. */
async function linkToNew(user: NewUser, domain = `${randomUUID()}.example.com`) {
  const slug = `start-${randomUUID()}`
  await database.sql(
    `WITH added AS (
       INSERT INTO connections (slug, name, kind, settings)
       VALUES ($1, 'Test', 'oidc', '{"issuer":"https://idp.example.com","clientId":"x"}') RETURNING id
     ), owned AS (INSERT INTO connection_domains SELECT $2, id, now() FROM added)
     INSERT INTO identities (connection_id, issuer, subject, user_id) SELECT id, 'x', 'x', $3::uuid FROM added`,
    [slug, domain, user.id],
  )
  return slug
}

test('a guest without a password gets the start of the only connection, others a reset link', async () => {
  const change = (assignment: string) => (user: NewUser) =>
    database.sql(`UPDATE users SET ${assignment} WHERE id = $1`, [user.id])
  const cases: [
    what: string,
    prepare: (user: NewUser) => Promise<unknown>,
    isGuest: boolean,
  ][] = [
    ['a guest', async () => {}, true],
    ['a guest who has a password', change(`password_hash = '$2b$12$'`), false],
    [
      'a guest whom an operator allowed one',
      change(`password_policy = 'allowed'`),
      false,
    ],
    ['a guest who may only use SSO', change(`password_policy = 'never'`), true],
    ['a guest of two connections', (user) => linkToNew(user), false],
    [
      'a guest of a disabled connection',
      (user) =>
        database.sql(
          `UPDATE connections SET disabled_at = now() WHERE id = (SELECT connection_id FROM identities WHERE user_id = $1)`,
          [user.id],
        ),
      false,
    ],
  ]
  for (const [what, prepare, isGuest] of cases) {
    const user = await newUser()
    const slug = await linkToNew(user)
    await prepare(user)
    expect((await forgot(user.email)).body).toEqual({ ok: true })
    await poll(() => wasSent(user), what).toBe(true)
    const [mail] = smtp.mailsTo(user.email)
    const start = `${server.url}/api/auth/sso/${slug}/start\n`
    expect(mail!.text!.includes(start), what).toBe(isGuest)
    expect(Boolean(mail!.token), what).toBe(!isGuest)
  }
})

test('a user of a domain that is live elsewhere gets the sign-in page, not the start of the former connection', async () => {
  const domain = `${randomUUID()}.example.com`
  const user = await newUser('', '', `ada@${domain}`)
  await linkToNew(user)
  const other = { id: (await newUser()).id, email: '' }
  await linkToNew(other, domain)
  await forgot(user.email)
  await poll(() => wasSent(user)).toBe(true)
  expect(smtp.mailsTo(user.email)[0]!.text).toContain(`${server.url}/sign-in\n`)
})

test('replaces a queued reset email with a sign-in email if its user is now restricted to SSO', async () => {
  const user = await newUser()
  await forgotRejected(user)
  await database.sql(`UPDATE users SET password_policy = 'never' WHERE id = $1`, [
    user.id,
  ])
  await database.sql(
    `UPDATE mails SET due_at = now() + interval '30 minutes' WHERE user_id = $1`,
    [user.id],
  )
  await age(user, '2 minutes')
  await forgot(user.email)
  const subjects = () => smtp.mailsTo(user.email).map(({ subject }) => subject)
  await poll(subjects).toEqual(['Sign in to Dashboard with your organization'])
  expect(await mailsOf(user)).toMatchObject([{ kind: 'sign-in' }])
})

test('responds before any lookup, so that it does not wait for a locked table', async () => {
  const [user, other] = [await newUser(), await newUser()]
  await whileLocked('LOCK TABLE users IN ACCESS EXCLUSIVE MODE', [], async () => {
    expect((await forgot(user.email)).status).toBe(200)
    const form = {
      method: 'POST',
      body: new URLSearchParams({ email: other.email }),
      redirect: 'manual',
    } as const
    const { status, headers } = await fetch(`${server.url}/forgot-password/send`, form)
    expect([status, headers.get('location')]).toEqual([303, '/forgot-password?sent'])
  })
  for (const { email } of [user, other])
    await poll(() => smtp.mailsTo(email).length).toBe(1)
})

test('rejects a text that is not exactly one email address', async () => {
  for (const email of [
    'a@x, b@y',
    'ada@example.com\r\nBcc: eve@example.com',
    'Ada <ada@example.com>, Eve <eve@example.com>',
    'mailto:ada@example.com,eve@example.com',
    '',
  ]) {
    const { status, body } = await forgot(email)
    const issue = { path: ['email'], code: 'invalid_email', message: expect.any(String) }
    expect([status, body.code, body.issues?.[0]]).toEqual([
      400,
      'VALIDATION_ERROR',
      issue,
    ])
  }
  for (const email of [undefined, ['a@example.com'], {}])
    expect((await forgot(email)).body.issues?.[0]?.code).toBe('invalid_type')
})

test('emails exactly the stored address if another form of the address was entered', async () => {
  const domain = `b${randomUUID().slice(0, 8)}ü.example`
  const unicode = await newUser('', '', `ada@${domain}`)
  const host = new URL(`http://${domain}`).hostname
  const [other, ascii] = [
    await newUser('', '', `bob@${domain}`),
    await newUser('', '', `eve@${host}`),
  ]
  await forgot(`ada@${domain}`)
  await forgot(`Bob@${host}`)
  await forgot(`\u200BEve <EVE＠${domain}>,`)
  await forgot(`  ${unicode.email} `)
  for (const user of [unicode, other, ascii]) await poll(() => wasSent(user)).toBe(true)
  const received = smtp.mails.filter(({ raw }) => raw.includes(host))
  const headers = received.map(({ raw }) => raw.match(/^To: (.*)\r$/m)?.[1])
  expect(headers.sort()).toEqual([`ada@${host}`, `bob@${host}`, `eve@${host}`])
  // smtp-server decodes the domain
  expect(received.flatMap(({ to }) => to).sort()).toEqual([
    `ada@${domain}`,
    `bob@${domain}`,
    `eve@${domain}`,
  ])
})

test('sends one email for 50 concurrent requests at two servers', async () => {
  const user = await newUser()
  const requests = Array.from({ length: 50 }, (_, index) =>
    forgot(user.email, {}, index % 2 ? second : server),
  )
  const responses = await Promise.all(requests)
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  await settled()
  await poll(() => smtp.mailsTo(user.email).length).toBe(1)
  expect(await mailsOf(user)).toHaveLength(1)
})

test('a request waits for an earlier request of the same user, but not for a concurrent sign-in', async () => {
  const user = await newUser()
  await whileLocked(
    'SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE',
    [user.id],
    async (holder) => {
      await forgotWaitsFor(holder, user)
      const sent = `INSERT INTO mails (kind, user_id, language, due_at, sent_at) VALUES ('reset', $1, 'en', NULL, now())`
      await holder.query(sent, [user.id])
    },
  )
  await settled()
  expect(await mailsOf(user)).toHaveLength(1)

  const other = await newUser()
  await whileLocked(
    'SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE',
    [other.id],
    async () => {
      await forgot(other.email)
      await poll(async () => (await mailsOf(other)).length).toBe(1)
    },
  )
})

test('limits emails to one per minute and three per hour, and after ten in a day to one per hour', async () => {
  const user = await newUser()
  // so that no token is issued, because issuing one would lock the user row
  smtp.respondWith(() => 451)
  const lock = async () =>
    (await database.sql('SELECT xmax FROM users WHERE id = $1', [user.id]))[0]!.xmax
  const ended = `UPDATE mails SET sent_at = now(), due_at = NULL, attempts = 9 WHERE user_id = $1 AND due_at IS NOT NULL`
  let mails = 0
  const steps = `
    0 seconds: sent, 59 seconds: none, 2 seconds: sent, 61 seconds: sent, 61 seconds: none (three in this hour),
    1 hour: sent, 61 seconds: sent, 61 seconds: sent, 1 hour: sent, 61 seconds: sent, 61 seconds: sent,
    1 hour: sent, 59 minutes: none (ten in this day), 2 minutes: sent, 1 day: sent`
  for (const [step, passed, outcome] of steps.matchAll(/(\d+ \w+): (\w+)/g)) {
    await age(user, passed!)
    const before = await lock()
    await forgot(user.email)
    if (outcome === 'sent') {
      await expect.poll(async () => (await mailsOf(user)).length, step).toBe(++mails)
    } else {
      await settled()
      expect(await mailsOf(user), step).toHaveLength(mails)
      expect(await lock()).toBe(before) // `xmax` would show a row lock
    }
    await database.sql(ended, [user.id])
  }
})

test('after 451 responses, retries in 1, 5, 15 and then 30 minutes, and gives up after an hour', async () => {
  const user = await newUser()
  smtp.respondWith((stage, recipient) =>
    stage === 'RCPT' && recipient === user.email ? 451 : undefined,
  )
  await forgot(user.email)
  const wait = `SELECT attempts, round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM mails WHERE user_id = $1`
  for (const [index, minutes] of [1, 5, 15, 30, null].entries()) {
    await poll(async () => (await database.sql(wait, [user.id]))[0]).toEqual({
      attempts: index + 1,
      minutes,
    })
    if (minutes === null) break
    await age(user, `${minutes} minutes`)
    await retryNow(user)
  }
  expect((await mailsOf(user))[0]!.gave_up_at).not.toBeNull()
  expect(smtp.mailsTo(user.email)).toEqual([])
  const tokens = await database.sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [
    user.id,
  ])
  expect(tokens, 'no link was replaced').toEqual([])
  expect(await logged()).toMatch(
    /"level":"warn".*"mail":"reset","attempt":1,"code":"EENVELOPE","smtpCode":451/,
  )
})

test('gives up immediately if RCPT or DATA is rejected with 550', async () => {
  for (const failing of ['RCPT', 'DATA']) {
    const user = await newUser()
    smtp.respondWith((stage, recipient) =>
      stage === failing && recipient === user.email ? 550 : undefined,
    )
    await forgot(user.email)
    await poll(async () => (await mailsOf(user))[0]?.gave_up_at).toBeTruthy()
    expect((await mailsOf(user))[0]!.attempts).toBe(1)
  }
})

test.describe('with a mail server that misbehaves', () => {
  let own: OwnDatabase
  let other: TestServer
  let connected: (socket: Socket) => void
  const misbehaving = createServer((socket) => {
    socket.on('error', () => {})
    connected(socket)
  })
  test.beforeAll(async ({ serverWith }) => {
    own = await openOwnDatabase()
    await once(misbehaving.listen(0, '127.0.0.1'), 'listening')
    const { port } = misbehaving.address() as AddressInfo
    other = await serverWith({
      ...{
        DATABASE_URL: own.url(),
        CRON_SECRET: cronSecret,
        MAIL_FROM: 'login@example.com',
      },
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      SMTP_MAX_CONNECTIONS: '4',
      ...preload('faster-timers.mjs', 'prompt-mails.mjs'),
    })
  })
  test.afterEach(() => own.sql('DELETE FROM mails'))
  test.afterAll(async () => {
    await own?.drop()
    misbehaving.close()
  })

  const outcome = async () =>
    (await own.sql(
      `SELECT attempts, sent_at IS NOT NULL AS sent, extract(epoch FROM due_at - now())::float8 AS seconds FROM mails`,
    )) as { attempts: number; sent: boolean; seconds: number | null }[]

  /** Starts a mail server that delays its greeting and its response to the content. */
  async function slowServer(greetingMs: number, contentMs: number): Promise<Smtp> {
    const slow = await startSmtp({ greetingMs })
    slow.beforeAccepting(() => sleep(contentMs))
    const port = Number(new URL(slow.settings.SMTP_URL).port)
    connected = (socket) =>
      void socket.pipe(connect(port, '127.0.0.1').on('error', () => {})).pipe(socket)
    return slow
  }

  // The timers of the server `other` run ten times as fast.
  test('retries later if the mail server accepts a connection and says nothing', async () => {
    connected = () => {}
    await queueMails(own, [newEmail()])
    expect(await sendDue(other.url)).toBe(1)
    expect(await outcome()).toEqual([
      { attempts: 1, sent: false, seconds: expect.any(Number) },
    ])
    expect(await other.output()).toContain('"code":"ETIMEDOUT"') // the limit of the greeting
  })

  test('sends one email if the mail server takes 7 seconds to greet and 12 seconds to accept the content', async () => {
    const slow = await slowServer(700, 1_200)
    const email = newEmail()
    await own.sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
      [email],
    )
    await forgot(email, {}, other)
    await poll(outcome).toEqual([{ attempts: 1, sent: true, seconds: null }])
    expect(slow.mails).toHaveLength(1)
    await slow.stop()

    // then its sender looks for another email, which must not be that of the next test
    await poll(async () => (await other.logged('an email was sent')).length).toBe(1)
    expect(await sendDue(other.url)).toBe(0)
  })

  test('ends the cron job after 20 seconds, and retries an unfinished email within a minute', async () => {
    const slow = await slowServer(700, 2_000)
    await queueMails(own, [newEmail()])
    expect(await sendDue(other.url)).toBe(1)
    const [mail] = await outcome()
    expect(mail!.sent).toBe(false)
    expect(mail!.seconds, 'not the claim, which lasts two minutes').toBeLessThan(61)
    await slow.stop()
  })

  test('sends the emails with the lowest `priority` number first, four at a time', async () => {
    const slow = await slowServer(0, 0)
    const emails = Array.from({ length: 12 }, () => newEmail())
    const arrived: string[] = []
    let accept = () => {}
    const accepted = new Promise<void>((resolve) => (accept = resolve))
    slow.beforeAccepting(({ to: [email] }) => {
      arrived.push(email!)
      return accepted
    })
    await own.sql('DELETE FROM users')
    await queueMails(own, emails)
    const first = emails.slice(4, 8)
    await own.sql('UPDATE mails SET priority = 20')
    await own.sql(
      'UPDATE mails SET priority = 1 FROM users WHERE users.id = user_id AND email = ANY ($1)',
      [first],
    )
    const tried = sendDue(other.url)
    // The mail server has accepted none yet. Others follow if it waits too long.
    await poll(() => arrived.slice(0, 4).toSorted()).toEqual(first.toSorted())
    accept()
    expect(await tried).toBe(12)
    await slow.stop()
  })
})

test('retries a password change notice for a day', async () => {
  const user = await newUser()
  const token = await tokenFor(user)
  smtp.respondWith(() => 451)
  expect((await reset(token)).status).toBe(200)
  await poll(async () => (await noticeTo(user))?.attempts).toBe(1)
  await attemptEnded(user)
  await database.sql(
    'UPDATE mails SET attempts = 5 WHERE user_id = $1 AND due_at IS NOT NULL',
    [user.id],
  )
  await age(user, '3 hours')
  await retryNow(user)
  const hours =
    (await noticeTo(user))!.due_at.getTime() / 3_600_000 - Date.now() / 3_600_000
  expect(hours).toBeCloseTo(12, 1)
  smtp.respondWith(() => undefined)
  await age(user, '21 hours 1 minute')
  await retryNow(user)
  expect((await noticeTo(user))!.gave_up_at).not.toBeNull()
  expect(smtp.mailsTo(user.email)).toHaveLength(1)
})

test('sets the priority of an email to the number of earlier requests from the same IP address block', async () => {
  const [flooded, other] = [await newUser(), await newUser()]
  const block = newAddress().replace(/\d+$/, '')
  smtp.respondWith(() => 451)
  for (let index = 1; index <= 5; index++) {
    const unknown = `unknown-${index}@example.com` // requests for unknown addresses count too
    await forgot(unknown, { 'X-Forwarded-For': `${block}${index}` })
  }
  await forgot(flooded.email, { 'X-Forwarded-For': `${block}9` })
  await forgot(other.email)
  const priorities = () =>
    database.sql('SELECT priority FROM mails WHERE user_id IN ($1, $2) ORDER BY 1', [
      flooded.id,
      other.id,
    ])
  await poll(priorities).toEqual([{ priority: 0 }, { priority: 5 }])
})

test('sends each email once from concurrent senders of two servers', async () => {
  const emails = Array.from({ length: 40 }, () => newEmail())
  await queueMails(database, emails, 'password-changed')
  await Promise.all([sendDue(), sendDue(second.url), sendDue(), sendDue(second.url)])
  const unsent = 'SELECT 1 FROM mails WHERE sent_at IS NULL'
  await poll(async () => (await database.sql(unsent)).length).toBe(0)
  expect(await database.sql('SELECT DISTINCT attempts FROM mails')).toEqual([
    { attempts: 1 },
  ])
  for (const email of emails) expect(smtp.mailsTo(email)).toHaveLength(1)
})

test('a sender whose claim has expired does not send the email', async () => {
  const user = await newUser()
  const releases: (() => void)[] = []
  smtp.respondWith(async (stage, recipient) => {
    if (stage === 'RCPT' && recipient === user.email)
      await new Promise<void>((resolve) => releases.push(resolve))
    return undefined
  })
  const withdrawn = async () =>
    (await logged()).split('"attempt":1,"msg":"an email was withdrawn"').length - 1
  const before = await withdrawn()
  await forgot(user.email)
  await poll(() => releases.length).toBe(1)
  await makeDue(user) // as if two minutes had passed
  const sent = sendDue(second.url)
  await poll(() => releases.length).toBe(2)
  releases[0]!()
  await poll(withdrawn).toBe(before + 1)
  releases[1]!()
  await sent
  await attemptEnded(user)
  expect(smtp.mailsTo(user.email)).toHaveLength(1)
  expect(await mailsOf(user)).toEqual([
    expect.objectContaining({ attempts: 2, due_at: null, gave_up_at: null }),
  ])
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
})

test('a reset changes nothing if its notice can’t be stored', async () => {
  const user = await newUser()
  const token = await tokenFor(user)
  const state = () =>
    database.sql(
      `SELECT password_hash, (SELECT used_at FROM reset_tokens WHERE user_id = users.id) FROM users WHERE id = $1`,
      [user.id],
    )
  await database.sql(
    `ALTER TABLE mails ADD CONSTRAINT no_notice CHECK (kind <> 'password-changed') NOT VALID`,
  )
  try {
    expect((await reset(token)).status).toBe(500)
  } finally {
    await database.sql('ALTER TABLE mails DROP CONSTRAINT no_notice')
  }
  expect(await state()).toEqual([{ password_hash: null, used_at: null }])
  expect((await reset(token)).status).toBe(200)
  expect(await state()).toEqual([
    { password_hash: expect.any(String), used_at: expect.any(Date) },
  ])
})

/** Queues an invitation for a new user. */
async function inviteNew(attempts = 0): Promise<NewUser> {
  const email = newEmail()
  await queueMails(database, [email], 'invitation', attempts)
  return (
    await database.sql('SELECT id, email FROM users WHERE email = $1', [email])
  )[0] as NewUser
}
/** Queues an invitation that is not due, and sends a reset email to the same user. */
async function inviteThenForgot(): Promise<NewUser> {
  const user = await inviteNew(1)
  await forgot(user.email)
  await recordedAsSent(user, 1)
  return user
}

const agedToken = (user: NewUser, interval: string) =>
  database.sql(
    'UPDATE reset_tokens SET expires_at = expires_at - $2::interval WHERE user_id = $1',
    [user.id, interval],
  )

test('the link of an invitation works for 7 days, once, and only until a newer link is sent', async () => {
  for (const outlived of [true, false]) {
    const user = await inviteNew()
    await sendDue()
    await poll(() => wasSent(user)).toBe(true)
    const token = smtp.mailsTo(user.email)[0]!.token!
    await agedToken(user, outlived ? '7 days' : '6 days 23 hours')
    expect((await reset(token)).status).toBe(outlived ? 400 : 200)
    expect((await reset(token)).status).toBe(400)
  }

  // The limits of reset emails do not count invitations.
  const user = await inviteNew()
  await sendDue()
  await recordedAsSent(user, 1)
  await forgot(user.email)
  await poll(() => smtp.mailsTo(user.email).length).toBe(2)
  const [invited, newer] = smtp.mailsTo(user.email)
  expect((await reset(invited!.token!)).status).toBe(400)
  expect((await reset(newer!.token!)).status).toBe(200)
})

test('a reset email does not replace an invitation that is not sent yet', async () => {
  const user = await inviteThenForgot()
  expect((await mailsOf(user)).map(({ kind }) => kind).sort()).toEqual([
    'invitation',
    'reset',
  ])
  await attemptEnded(user)
  await retryNow(user)
  const [, invited] = smtp.mailsTo(user.email)
  expect((await reset(invited!.token!)).status).toBe(200)
})

test('does not send an invitation to a user who has chosen a password meanwhile', async () => {
  const user = await inviteThenForgot()
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
  await poll(async () => (await noticeTo(user))?.sent_at).toBeTruthy()
  await retryNow(user)
  expect((await mailsOf(user)).map(({ kind }) => kind).sort()).toEqual([
    'password-changed',
    'reset',
  ])
  expect(smtp.mailsTo(user.email)).toHaveLength(2)
})

test('does not send a reset email that was queued before the password was reset', async () => {
  const user = await newUser()
  const token = await tokenFor(user)
  await age(user, '2 minutes')
  await forgotRejected(user)
  expect(
    (await reset(token)).status,
    'an attempt that failed before DATA left the link as it was',
  ).toBe(200)
  // a second sender would send a claimed notice again
  await poll(async () => (await noticeTo(user))?.sent_at).toBeTruthy()
  await retryNow(user)
  expect(smtp.mailsTo(user.email).map(({ token }) => Boolean(token))).toEqual([
    true,
    false,
  ])
  const kinds = (await mailsOf(user)).map(({ kind }) => kind)
  expect(kinds.sort()).toEqual(['password-changed', 'reset'])
})

test('sends no link to a user who was disabled or restricted to SSO while the email was queued', async () => {
  for (const [kind, change] of ['reset', 'invitation'].flatMap((kind) =>
    ['disabled_at = now()', `password_policy = 'never'`].map((change) => [kind, change]),
  )) {
    const user = await newUser()
    await forgotRejected(user)
    await database.sql('UPDATE mails SET kind = $2 WHERE user_id = $1', [user.id, kind])
    await database.sql(`UPDATE users SET ${change} WHERE id = $1`, [user.id])
    await retryNow(user)
    await poll(async () => (await mailsOf(user))[0]!.gave_up_at).toBeTruthy()
    expect(smtp.mailsTo(user.email)).toEqual([])
    expect(
      await database.sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user.id]),
    ).toEqual([])
  }
})

test('a new request makes a queued email due, and queues no second email', async () => {
  const user = await newUser()
  await forgotRejected(user)
  const later = `attempts = 4, priority = 9, due_at = now() + interval '30 minutes'`
  await database.sql(`UPDATE mails SET ${later} WHERE user_id = $1`, [user.id])
  await age(user, '25 minutes')
  await forgot(user.email, { 'X-Forwarded-For': newAddress() })
  await poll(() => smtp.mailsTo(user.email).length).toBe(1)
  expect(await mailsOf(user)).toHaveLength(1)
  expect(
    await database.sql('SELECT priority FROM mails WHERE user_id = $1', [user.id]),
  ).toEqual([{ priority: 0 }])
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
})

test('sends no email and has no forgot-password page without SMTP_URL', async ({
  url,
  user,
  sql,
}) => {
  const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() }
  const body = JSON.stringify({ email: user.email })
  for (const path of [routes.forgotPassword.path, '/forgot-password/send'])
    expect(
      (await fetch(url + path, { method: 'POST', headers, body })).status,
      path,
    ).toBe(404)
  const { status } = await postTo(
    url + resetPath,
    { token: await newToken(user), password: newPassword() },
    headers,
  )
  expect(status).toBe(200)
  expect(await sql('SELECT 1 FROM mails WHERE user_id = $1', [user.id])).toEqual([])
})

test('stores no token of an email, and logs no token and no email address', async () => {
  const user = await newUser()
  await tokenFor(user)
  const tokens = smtp.mails.flatMap(({ token }) => token ?? [])
  const tables = await database.sql(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`,
  )
  let stored = ''
  for (const { tablename } of tables) {
    const rows = await database.sql(
      `SELECT "${tablename}"::text AS row FROM "${tablename}"`,
    )
    stored += rows.map(({ row }) => `${row}\n`).join('')
  }
  expect(stored).toContain(user.email) // in the users table
  const output = await logged()
  for (const token of tokens) {
    const forms = [
      token,
      Buffer.from(token, 'base64url').toString('hex'),
      Buffer.from(token).toString('hex'),
    ]
    for (const form of forms)
      expect(stored.includes(form) || output.includes(form)).toBe(false)
  }
  for (const address of smtp.recipients) expect(output).not.toContain(address)
})
