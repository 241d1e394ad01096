import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import * as paths from '../../lib/contract/paths'
import { documentedFetch } from '../support/documented'
import { expect, keepSecret, newAddress, newPassword, newToken, postTo, resetPath, test } from '../support/fixtures'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { type Server, startServer } from '../support/server'
import { type Smtp, startSmtp } from '../support/smtp'

test.describe.configure({ mode: 'serial' }) // one outbox

const cronSecret = keepSecret(`cron-${randomUUID()}`)
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

let database: OwnDatabase
let smtp: Smtp
let server: Server

test.beforeAll(async () => {
  database = await openOwnDatabase()
  smtp = await startSmtp()
  server = await startServer({ DATABASE_URL: database.url(), CRON_SECRET: cronSecret, ...smtp.settings })
})
test.afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
  await database?.drop()
})
test.afterEach(async () => {
  smtp.respondWith(() => undefined)
  smtp.beforeAccepting(async () => {})
  await database.sql('DELETE FROM mails')
})

const newEmail = () => `user-${randomUUID()}@example.com`

type NewUser = { id: string; email: string }

async function newUser(columns = '', values = '', email = newEmail()): Promise<NewUser> {
  const [user] = await database.sql(`INSERT INTO users (email${columns}) VALUES ($1${values}) RETURNING id, email`, [
    email,
  ])
  return user as NewUser
}

const forgot = (email: unknown, headers: Record<string, string> = {}) =>
  postTo(server.url + paths.forgotPassword, { email }, { 'X-Forwarded-For': newAddress(), ...headers })
const reset = (token: string, headers: Record<string, string> = {}) =>
  postTo(server.url + resetPath, { token, password: newPassword() }, { 'X-Forwarded-For': newAddress(), ...headers })

/** Sends what is due, as Vercel’s cron job does. Returns how many mails were tried. */
async function sendDue(url = server.url): Promise<number> {
  const response = await fetch(`${url}/api/cron/mail`, {
    headers: { Authorization: `Bearer ${cronSecret}`, 'X-Forwarded-For': newAddress() },
  })
  return ((await response.json()) as { tried: number }).tried
}

/** Waits until the work after the responses so far is done. */
async function settled(): Promise<void> {
  const marker = await newUser()
  await forgot(marker.email)
  await expect
    .poll(async () => (await database.sql('SELECT 1 FROM mails WHERE user_id = $1', [marker.id])).length)
    .toBe(1)
}

const mailsOf = (user: NewUser) =>
  database.sql('SELECT kind, attempts, due_at, sent_at, gave_up_at, device, language FROM mails WHERE user_id = $1', [
    user.id,
  ])
const makeDue = (user: NewUser) =>
  database.sql('UPDATE mails SET due_at = now() WHERE user_id = $1 AND due_at IS NOT NULL', [user.id])
const age = (user: NewUser, interval: string) =>
  database.sql('UPDATE mails SET requested_at = requested_at - $2::interval WHERE user_id = $1', [user.id, interval])

/** Runs `act` while another transaction holds what `lock` locks; its changes are committed at the end. */
async function whileLocked(lock: string, values: unknown[], act: (holder: pg.Client) => Promise<void>): Promise<void> {
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

/** Requests a mail, whose work then waits for what `holder` has locked. */
async function forgotWaitsFor(holder: pg.Client, user: NewUser): Promise<void> {
  const { rows } = await holder.query('SELECT pg_backend_pid() AS pid')
  await forgot(user.email)
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))'
  await expect.poll(async () => (await database.sql(waiting, [rows[0].pid])).length).toBe(1)
}

test('mails a link that sets a password, then a notice; the outbox holds neither address nor secret', async () => {
  const user = await newUser()
  const { status, body } = await forgot(user.email.toUpperCase(), { 'User-Agent': firefox })
  expect([status, body]).toEqual([200, { ok: true }])
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  const [mail] = smtp.mailsTo(user.email)
  expect([mail!.from, mail!.to, mail!.subject]).toEqual([
    'login@example.com',
    [user.email],
    'Choose a new password for Dashboard',
  ])
  expect(mail!.text).toContain(`${server.url}/reset-password?token=${mail!.token}`)
  expect(mail!.text).toMatch(/The link works once, for 1 hour from when this email was sent/)
  expect(mail!.text).toMatch(/Requested on \w+ \d+, \d{4} at \d+:\d\d\s[AP]M UTC, from Firefox on Windows\./)
  expect(mail!.html).toContain(`>${server.url}/reset-password?token=${mail!.token}<`)
  const headers = Object.fromEntries(mail!.headers.map(({ key, value }) => [key, value]))
  expect(headers['auto-submitted']).toBe('auto-generated')
  expect(headers['x-auto-response-suppress']).toBe('All')
  expect(headers.from).toBe('Dashboard <login@example.com>')
  expect(mail!.messageId).toMatch(/^<[\w-]+@localhost>$/)
  expect(mail!.html).not.toMatch(/<img|<script|src=|@import|url\(/)

  await expect.poll(async () => (await mailsOf(user))[0]?.sent_at).toBeTruthy() // later than the mail arrives
  const [row] = await database.sql('SELECT * FROM mails WHERE user_id = $1', [user.id])
  expect(row).toMatchObject({ kind: 'reset', language: 'en', device: 'Firefox on Windows', attempts: 1, due_at: null })
  expect(JSON.stringify(row)).not.toContain(user.email)

  expect((await reset(mail!.token!, { 'User-Agent': firefox, 'Accept-Language': 'de' })).status).toBe(200)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(2)
  const notice = smtp.mailsTo(user.email)[1]!
  expect([notice.subject, notice.token]).toEqual(['Ihr Passwort für Dashboard wurde geändert', undefined])
  expect(notice.text).toMatch(/Geändert am \d+\. \p{L}+ \d{4} um \d+:\d\d UTC mit Firefox unter Windows\./u)
  expect(notice.text).toContain(`${server.url}/forgot-password`)
  expect((await reset(mail!.token!)).status).toBe(400)
})

test('unknown, disabled and SSO-only users get the same response, and no mail', async () => {
  const users = [
    { id: randomUUID(), email: newEmail() },
    await newUser(', disabled_at', ', now()'),
    await newUser(', sso_only', ', true'),
  ]
  for (const { email } of users) {
    const { status, body } = await forgot(email)
    expect([status, body]).toEqual([200, { ok: true }])
  }
  await settled()
  for (const user of users) expect(await mailsOf(user)).toEqual([])
})

test('the response comes before any look-up: it does not wait for a locked table', async () => {
  const [user, other] = [await newUser(), await newUser()]
  await whileLocked('LOCK TABLE users IN ACCESS EXCLUSIVE MODE', [], async () => {
    expect((await forgot(user.email)).status).toBe(200)
    const form = { method: 'POST', body: new URLSearchParams({ email: other.email }), redirect: 'manual' } as const
    const { status, headers } = await fetch(`${server.url}/forgot-password/send`, form)
    expect([status, headers.get('location')]).toEqual([303, '/forgot-password?sent'])
  })
  for (const { email } of [user, other]) await expect.poll(() => smtp.mailsTo(email).length).toBe(1)
})

const rejected: unknown[] = [
  'a@x, b@y',
  'a@x,b@y',
  'ada@example.com\r\nBcc: eve@example.com',
  'Ada <ada@example.com>',
  `${'x'.repeat(10_000)}@example.com`,
  'ada@[127.0.0.1]',
  '"a@b"@example.com',
  'ada',
  '',
]
test('what is not exactly one address is a VALIDATION_ERROR', async () => {
  for (const email of rejected) {
    const { status, body } = await forgot(email)
    expect([status, body.code, body.issues?.[0]]).toEqual([
      400,
      'VALIDATION_ERROR',
      { path: ['email'], code: 'invalid_email', message: expect.any(String) },
    ])
  }
  for (const email of [undefined, null, 1, ['a@example.com'], {}]) {
    expect((await forgot(email)).body.issues?.[0]?.code).toBe('invalid_type')
  }
})

test('a mail goes to exactly the stored address, whatever form of it was given', async () => {
  const domain = `b${randomUUID().slice(0, 8)}ü.example`
  const unicode = await newUser('', '', `ada@${domain}`)
  const host = new URL(`http://${domain}`).hostname
  const [other, ascii] = [await newUser('', '', `bob@${domain}`), await newUser('', '', `eve@${host}`)]
  await forgot(`ada@${domain}`)
  await forgot(`Bob@${host}`)
  await forgot(`EVE@${domain}`)
  await forgot(`  ${unicode.email} `)
  await expect
    .poll(
      async () => (await Promise.all([unicode, other, ascii].map(mailsOf))).flat().filter((row) => row.sent_at).length,
    )
    .toBe(3)
  const received = smtp.mails.filter(({ raw }) => raw.includes(host))
  const headers = received.map(({ raw }) => raw.match(/^To: (.*)\r$/m)?.[1])
  expect(headers.sort()).toEqual([`ada@${host}`, `bob@${host}`, `eve@${host}`])
  // smtp-server decodes the domain
  expect(received.flatMap(({ to }) => to).sort()).toEqual([`ada@${domain}`, `bob@${domain}`, `eve@${domain}`])
})

test('50 simultaneous requests for one user: one mail', async () => {
  const user = await newUser()
  const responses = await Promise.all(Array.from({ length: 50 }, () => forgot(user.email)))
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  await settled()
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  expect(await mailsOf(user)).toHaveLength(1)
})

test('two servers at once: still one mail', async () => {
  const user = await newUser()
  const other = await startServer({ DATABASE_URL: database.url(), ...smtp.settings })
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      postTo(
        (index % 2 ? other : server).url + paths.forgotPassword,
        { email: user.email },
        { 'X-Forwarded-For': newAddress() },
      ),
    ),
  )
  await other.stop() // waits for its work
  await settled()
  expect(await mailsOf(user)).toHaveLength(1)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
})

test('a request waits for one before it of the same user, and not for a sign-in', async () => {
  const user = await newUser()
  await whileLocked('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [user.id], async (holder) => {
    await forgotWaitsFor(holder, user)
    await holder.query(
      `INSERT INTO mails (kind, user_id, language, due_at, sent_at) VALUES ('reset', $1, 'en', NULL, now())`,
      [user.id],
    )
  })
  await settled()
  expect(await mailsOf(user)).toHaveLength(1)

  const other = await newUser()
  await whileLocked('SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE', [other.id], async () => {
    await forgot(other.email)
    await expect.poll(async () => (await mailsOf(other)).length).toBe(1)
  })
})

test('a user who is disabled while a request waits gets no mail', async () => {
  const user = await newUser()
  await whileLocked('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id], async (holder) => {
    await forgotWaitsFor(holder, user)
  })
  await settled()
  expect(await mailsOf(user)).toEqual([])
})

test('a request beyond the caps locks no user, which would be written to disk', async () => {
  const user = await newUser()
  const lock = async () => (await database.sql('SELECT xmax FROM users WHERE id = $1', [user.id]))[0]!.xmax
  await forgot(user.email)
  await expect.poll(async () => (await mailsOf(user))[0]?.sent_at).toBeTruthy() // a token that is issued locks the user, too
  const first = await lock()
  expect(first).not.toBe('0')
  await forgot(user.email)
  await settled()
  expect(await lock()).toBe(first)
})

test('caps per user: one a minute, three an hour, one an hour after ten in a day', async () => {
  const user = await newUser()
  const count = async () => (await mailsOf(user)).length
  const request = async () => {
    await forgot(user.email)
    await settled()
    await database.sql('UPDATE mails SET sent_at = now(), due_at = NULL WHERE user_id = $1 AND due_at IS NOT NULL', [
      user.id,
    ])
    return count()
  }
  expect(await request()).toBe(1)
  await age(user, '59 seconds')
  expect(await request()).toBe(1)
  await age(user, '2 seconds')
  expect(await request()).toBe(2)
  await age(user, '61 seconds')
  expect(await request()).toBe(3)
  await age(user, '61 seconds')
  expect(await request()).toBe(3)
  await age(user, '1 hour')
  for (const expected of [4, 5, 6]) {
    expect(await request()).toBe(expected)
    await age(user, '61 seconds')
  }
  await age(user, '1 hour')
  for (const expected of [7, 8, 9]) {
    expect(await request()).toBe(expected)
    await age(user, '61 seconds')
  }
  await age(user, '1 hour')
  expect(await request()).toBe(10)
  await age(user, '59 minutes')
  expect(await request()).toBe(10)
  await age(user, '2 minutes')
  expect(await request()).toBe(11)
  await age(user, '1 day')
  expect(await request()).toBe(12)
})

test('451 is tried again after 1, 5, 15 and 30 minutes, and given up after an hour', async () => {
  const user = await newUser()
  smtp.respondWith((stage, recipient) => (stage === 'RCPT' && recipient === user.email ? 451 : undefined))
  await forgot(user.email)
  const attempts = async () => (await mailsOf(user))[0]?.attempts
  const wait = `SELECT round(extract(epoch FROM due_at - now()) / 60)::int AS minutes, gave_up_at IS NOT NULL AS "gaveUp" FROM mails WHERE user_id = $1`
  await expect.poll(attempts).toBe(1)
  const waits: unknown[] = []
  for (const passed of ['1 minute', '5 minutes', '15 minutes', '30 minutes', '0']) {
    await expect
      .poll(async () => (await mailsOf(user))[0]!.due_at > Date.now() + 30_000 || (await mailsOf(user))[0]!.gave_up_at)
      .toBeTruthy()
    await expect.poll(async () => (await database.sql(wait, [user.id]))[0]!.minutes).not.toBe(2) // the claim
    waits.push((await database.sql(wait, [user.id]))[0])
    await age(user, passed)
    await makeDue(user)
    await sendDue()
  }
  expect(waits).toEqual([
    ...[1, 5, 15, 30].map((minutes) => ({ minutes, gaveUp: false })),
    { minutes: null, gaveUp: true },
  ])
  expect(await attempts()).toBe(5)
  expect(smtp.mailsTo(user.email)).toEqual([])
  expect(
    (await database.sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user.id])).length,
    'no link was made worthless',
  ).toBe(0)
  expect(server.output()).toMatch(/"level":"warn".*"mail":"reset","attempt":1,"code":"EENVELOPE","smtpCode":451/)
})

test('550 is given up at once, at RCPT and at DATA', async () => {
  for (const failing of ['RCPT', 'DATA']) {
    const user = await newUser()
    smtp.respondWith((stage, recipient) => (stage === failing && recipient === user.email ? 550 : undefined))
    await forgot(user.email)
    await expect.poll(async () => (await mailsOf(user))[0]?.gave_up_at).toBeTruthy()
    expect((await mailsOf(user))[0]!.attempts).toBe(1)
  }
})

/** Starts a server with a mail to send, and a database of its own, whose mails no other server sends. */
async function serverWithMail(SMTP_URL: string) {
  const own = await openOwnDatabase()
  const other = await startServer({ DATABASE_URL: own.url(), ...smtp.settings, SMTP_URL })
  const email = newEmail()
  await own.sql('INSERT INTO users (email) VALUES ($1)', [email])
  await postTo(other.url + paths.forgotPassword, { email }, { 'X-Forwarded-For': newAddress() })
  return { other, own }
}

test('a mail server that never stops sending gets no more attention than one that is down', async () => {
  const endless = createServer((socket) => {
    const send = () => {
      while (socket.writable && socket.write('\r\n'.repeat(10_000)));
    }
    socket.on('error', () => {})
    socket.on('drain', send)
    socket.write('220 hello\r\n')
    send()
  }).listen(0, '127.0.0.1')
  await once(endless, 'listening')
  const SMTP_URL = `smtp://127.0.0.1:${(endless.address() as AddressInfo).port}`
  const { other, own } = await serverWithMail(SMTP_URL)
  await expect.poll(other.output, { timeout: 20_000 }).toContain('a mail could not be sent: it is tried again later')
  await other.stop()
  await own.drop()
  endless.close()
})

test('a mail server that takes its time, to greet and to accept the content, gets one mail', async () => {
  const slow = await startSmtp({ greetingMs: 7_000 })
  slow.beforeAccepting(() => sleep(12_000))
  const { other, own } = await serverWithMail(slow.settings.SMTP_URL)
  const mails = () => own.sql('SELECT attempts, sent_at IS NOT NULL AS sent FROM mails')
  await expect.poll(mails, { timeout: 50_000 }).toEqual([{ attempts: 1, sent: true }])
  expect(slow.mails).toHaveLength(1)
  await other.stop()
  await own.drop()
  await slow.stop()
})

test('the cron job ends in time, and stores when a mail that takes too long is tried again', async () => {
  const slow = await startSmtp({ greetingMs: 10_000 })
  slow.beforeAccepting(() => sleep(15_000))
  const own = await openOwnDatabase()
  const other = await startServer({ DATABASE_URL: own.url(), CRON_SECRET: cronSecret, ...slow.settings })
  const [user] = await own.sql('INSERT INTO users (email) VALUES ($1) RETURNING id', [newEmail()])
  await own.sql(`INSERT INTO mails (kind, user_id, language) VALUES ('reset', $1, 'en')`, [user!.id])
  expect(await sendDue(other.url)).toBe(1)
  const [mail] = await own.sql('SELECT sent_at, extract(epoch FROM due_at - now())::float8 AS seconds FROM mails')
  expect(mail!.sent_at).toBeNull()
  expect(mail!.seconds, 'not the claim, which lasts two minutes').toBeLessThan(61)
  await other.stop()
  await own.drop()
  await slow.stop()
})

test('a mail server that goes on sending after the mail loses its connection', async () => {
  let closed = false
  const trickling = createServer((socket) => {
    let timer: NodeJS.Timeout | undefined
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(timer)
      closed = true
    })
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
      const isContent = received.startsWith('DATA')
      if (!received.endsWith(isContent && received.length > 'DATA\r\n'.length ? '\r\n.\r\n' : '\r\n')) return
      if (received.startsWith('QUIT')) timer = setInterval(() => socket.write('250-wait\r\n'), 1_000)
      else socket.write(received === 'DATA\r\n' ? '354 go on\r\n' : '250 ok\r\n')
      if (received !== 'DATA\r\n') received = ''
    })
    socket.write('220 hello\r\n')
  }).listen(0, '127.0.0.1')
  await once(trickling, 'listening')
  const SMTP_URL = `smtp://127.0.0.1:${(trickling.address() as AddressInfo).port}`
  const { other, own } = await serverWithMail(SMTP_URL)
  await expect.poll(other.output, { timeout: 20_000 }).toContain('a mail was sent')
  await expect.poll(() => closed, { timeout: 30_000 }).toBe(true)
  await other.stop()
  await own.drop()
  trickling.close()
})

test('a notice is tried again for a day', async () => {
  const user = await newUser()
  await forgot(user.email)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  smtp.respondWith(() => 451)
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
  const notice = async () => (await mailsOf(user)).find(({ kind }) => kind === 'password-changed')
  await expect.poll(async () => (await notice())?.attempts).toBe(1)
  await database.sql(
    `UPDATE mails SET attempts = 5, requested_at = now() - interval '3 hours' WHERE user_id = $1 AND due_at IS NOT NULL`,
    [user.id],
  )
  await makeDue(user)
  await sendDue()
  const [row] = await database.sql(
    `SELECT round(extract(epoch FROM due_at - now()) / 3600)::int AS hours FROM mails WHERE user_id = $1 AND kind = 'password-changed'`,
    [user.id],
  )
  expect(row).toEqual({ hours: 12 })
  smtp.respondWith(() => undefined)
  await age(user, '21 hours 1 minute')
  await makeDue(user)
  await sendDue()
  expect((await notice())!.gave_up_at).not.toBeNull()
  expect(smtp.mailsTo(user.email)).toHaveLength(1)
})

test('the mails of a site that sends many requests wait behind those of others', async () => {
  const others = [await newUser(), await newUser()]
  const flooded = await Promise.all(Array.from({ length: 30 }, () => newUser()))
  const site = newAddress().replace(/\d+$/, '')
  const order: string[] = []
  const accept: (() => void)[] = []
  smtp.beforeAccepting(async ({ to: [email] }) => {
    order.push(email!)
    await new Promise<void>((resolve) => accept.push(resolve))
  })
  // requests for unknown users count as well
  for (let index = 1; index <= 20; index++)
    await forgot(`unknown-${index}@example.com`, { 'X-Forwarded-For': `${site}${index}` })
  for (const [index, { email }] of flooded.entries())
    await forgot(email, { 'X-Forwarded-For': `${site}${100 + index}` })
  for (const { email } of others) await forgot(email)
  const turns = async () => (await database.sql('SELECT turn FROM mails ORDER BY turn')).map(({ turn }) => turn)
  const ofTheSite = Array.from({ length: 30 }, (_, index) => 20 + index)
  await expect.poll(turns).toEqual([0, 0, ...ofTheSite])
  await expect.poll(() => accept.length).toBe(4)
  // one at a time, since two that are sent at the same time may arrive in either order
  for (let sent = 0; sent < 32; sent++) {
    accept[sent]!()
    await expect.poll(() => accept.length).toBe(Math.min(sent + 5, 32))
  }
  const ranks = others.map(({ email }) => order.indexOf(email))
  console.log(`the mails of others were sent as number ${ranks.join(' and ')}`)
  for (const rank of ranks) expect(rank).toBeLessThan(6) // four may have been on their way
})

test('a mail does not wait for another that is being sent, so that it can’t tell of it', async () => {
  const own = await openOwnDatabase()
  const other = await startServer({ DATABASE_URL: own.url(), CRON_SECRET: cronSecret, ...smtp.settings })
  const emails = Array.from({ length: 4 }, () => newEmail())
  let accept = () => {}
  const accepted = new Promise<void>((resolve) => {
    accept = resolve
  })
  const arrived: string[] = []
  smtp.beforeAccepting(async ({ to: [email] }) => {
    arrived.push(email!)
    await accepted
  })
  await own.sql(
    `WITH created AS (INSERT INTO users (email) SELECT unnest($1::text[]) RETURNING id)
     INSERT INTO mails (kind, user_id, language) SELECT 'reset', id, 'en' FROM created`,
    [emails],
  )
  const tried = sendDue(other.url)
  await expect.poll(() => arrived.toSorted()).toEqual(emails.toSorted())
  accept()
  expect(await tried).toBe(4)
  await other.stop()
  await own.drop()
})

test('senders at the same time send each mail once', async () => {
  const emails = Array.from({ length: 40 }, () => newEmail())
  await database.sql(
    `WITH created AS (INSERT INTO users (email) SELECT unnest($1::text[]) RETURNING id)
     INSERT INTO mails (kind, user_id, language) SELECT 'password-changed', id, 'en' FROM created`,
    [emails],
  )
  await Promise.all([sendDue(), sendDue(), sendDue(), sendDue()])
  const unsent = 'SELECT 1 FROM mails WHERE sent_at IS NULL'
  await expect.poll(async () => (await database.sql(unsent)).length).toBe(0)
  const attempts = await database.sql('SELECT DISTINCT attempts FROM mails')
  expect(attempts).toEqual([{ attempts: 1 }])
  for (const email of emails) expect(smtp.mailsTo(email)).toHaveLength(1)
})

test('a sender whose claim has passed to another sends nothing', async () => {
  const user = await newUser()
  const releases: (() => void)[] = []
  smtp.respondWith(async (stage, recipient) => {
    if (stage === 'RCPT' && recipient === user.email) await new Promise<void>((resolve) => releases.push(resolve))
    return undefined
  })
  const before = server.output().length
  await forgot(user.email)
  await expect.poll(() => releases.length).toBe(1)
  await makeDue(user) // two minutes later
  const sent = sendDue()
  await expect.poll(() => releases.length).toBe(2)
  releases[0]!()
  await expect.poll(() => server.output().slice(before)).toContain('"attempt":1,"msg":"a mail was withdrawn"')
  releases[1]!()
  await sent
  expect(smtp.mailsTo(user.email)).toHaveLength(1)
  expect(await mailsOf(user)).toEqual([expect.objectContaining({ attempts: 2, due_at: null, gave_up_at: null })])
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
})

test('a reset whose notice cannot be stored changes nothing', async () => {
  const user = await newUser()
  await forgot(user.email)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  const { token } = smtp.mailsTo(user.email)[0]!
  const state = () =>
    database.sql(
      `SELECT password_hash, (SELECT used_at FROM reset_tokens WHERE user_id = users.id) FROM users WHERE id = $1`,
      [user.id],
    )
  await database.sql(`
    CREATE FUNCTION reject_mail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'rejected by the test'; END $$;
    CREATE TRIGGER reject_notices BEFORE INSERT ON mails FOR EACH ROW WHEN (NEW.kind = 'password-changed')
      EXECUTE FUNCTION reject_mail()`)
  try {
    expect((await reset(token!)).status).toBe(500)
  } finally {
    await database.sql('DROP FUNCTION reject_mail CASCADE')
  }
  expect(await state()).toEqual([{ password_hash: null, used_at: null }])
  expect((await reset(token!)).status).toBe(200)
  expect(await state()).toEqual([{ password_hash: expect.any(String), used_at: expect.any(Date) }])
})

test('a mail that was queued before a successful reset sends no link after it', async () => {
  const user = await newUser()
  await forgot(user.email)
  await expect.poll(async () => (await mailsOf(user))[0]?.sent_at).toBeTruthy()
  const { token } = smtp.mailsTo(user.email)[0]!
  await age(user, '2 minutes')
  smtp.respondWith((stage) => (stage === 'RCPT' ? 451 : undefined))
  await forgot(user.email)
  await expect
    .poll(async () => (await mailsOf(user)).filter(({ attempts, due_at }) => attempts === 1 && due_at).length)
    .toBe(1)
  expect((await reset(token!)).status, 'an attempt that failed before DATA left the link as it was').toBe(200)
  smtp.respondWith(() => undefined)
  await makeDue(user)
  await sendDue()
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(2)
  expect(smtp.mailsTo(user.email).map(({ token }) => Boolean(token))).toEqual([true, false])
  const kinds = (await mailsOf(user)).map(({ kind }) => kind)
  expect(kinds.sort()).toEqual(['password-changed', 'reset'])
})

test('no link is sent to a user who was disabled, or became SSO-only, while the mail waited', async () => {
  for (const change of ['disabled_at = now()', 'sso_only = true']) {
    const user = await newUser()
    smtp.respondWith((stage) => (stage === 'RCPT' ? 451 : undefined))
    await forgot(user.email)
    await expect.poll(async () => (await mailsOf(user))[0]?.attempts).toBe(1)
    await expect.poll(async () => (await mailsOf(user))[0]!.due_at < Date.now() + 90_000).toBe(true)
    await database.sql(`UPDATE users SET ${change} WHERE id = $1`, [user.id])
    smtp.respondWith(() => undefined)
    await makeDue(user)
    await sendDue()
    await expect.poll(async () => (await mailsOf(user))[0]!.gave_up_at).toBeTruthy()
    expect(smtp.mailsTo(user.email)).toEqual([])
    expect(await database.sql('SELECT 1 FROM reset_tokens WHERE user_id = $1', [user.id])).toEqual([])
  }
})

test('while a mail waits for another attempt, a new request makes it due, and adds none', async () => {
  const user = await newUser()
  smtp.respondWith((stage) => (stage === 'RCPT' ? 451 : undefined))
  await forgot(user.email)
  await expect.poll(async () => (await mailsOf(user))[0]?.attempts).toBe(1)
  await database.sql(
    `UPDATE mails SET attempts = 4, turn = 9, due_at = now() + interval '30 minutes' WHERE user_id = $1`,
    [user.id],
  )
  await age(user, '25 minutes')
  smtp.respondWith(() => undefined)
  await forgot(user.email)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  expect(await mailsOf(user)).toHaveLength(1)
  expect(await database.sql('SELECT turn FROM mails WHERE user_id = $1', [user.id])).toEqual([{ turn: 0 }])
  expect((await reset(smtp.mailsTo(user.email)[0]!.token!)).status).toBe(200)
})

test('without the settings for e-mail there is neither operation nor page, and a reset touches no mail', async ({
  url,
  user,
  sql,
}) => {
  for (const method of ['POST', 'GET', 'HEAD', 'DELETE', 'OPTIONS']) {
    const send = method === 'POST' ? documentedFetch : fetch // other methods are documented as 405
    const response = await send(url + paths.forgotPassword, {
      method,
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: method === 'POST' ? JSON.stringify({ email: user.email }) : undefined,
    })
    expect([method, response.status]).toEqual([method, 404])
  }
  for (const [path, method] of [
    ['/forgot-password', 'GET'],
    ['/forgot-password/send', 'POST'],
    ['/forgot-password/send', 'GET'],
  ] as const)
    expect((await fetch(url + path, { method, headers: { 'X-Forwarded-For': newAddress() } })).status).toBe(404)
  const token = await newToken(user)
  const response = await postTo(
    url + resetPath,
    { token, password: newPassword() },
    { 'X-Forwarded-For': newAddress() },
  )
  expect(response.status).toBe(200)
  expect(await sql('SELECT 1 FROM mails WHERE user_id = $1', [user.id])).toEqual([])
})

test('no secret of any mail is in the database or in the log', async () => {
  const user = await newUser()
  await forgot(user.email)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  const tokens = smtp.mails.flatMap(({ token }) => token ?? [])
  expect(tokens.length).toBeGreaterThan(0)
  const tables = await database.sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
  let stored = ''
  for (const { tablename } of tables) {
    const rows = await database.sql(`SELECT "${tablename}"::text AS row FROM "${tablename}"`)
    stored += rows.map(({ row }) => `${row}\n`).join('')
  }
  expect(stored).toContain(user.email) // of the users table
  for (const token of tokens) {
    const forms = [token, Buffer.from(token, 'base64url').toString('hex'), Buffer.from(token).toString('hex')]
    for (const form of forms) expect(stored.includes(form) || server.output().includes(form)).toBe(false)
  }
  for (const address of smtp.recipients) expect(server.output()).not.toContain(address)
})
