import { randomUUID } from 'node:crypto'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { runScript } from '../support/servers/command'
import { type Smtp, startSmtp } from '../support/servers/smtp'

test.describe.configure({ mode: 'serial' }) // the tests share one outbox

let database: OwnDatabase
let smtp: Smtp
test.beforeAll(async () => {
  ;[database, smtp] = await Promise.all([openOwnDatabase(), startSmtp()])
})
test.afterAll(async () => {
  await smtp?.stop()
  await database?.drop()
})

const users = (...command: string[]) =>
  runScript(['users', '--', ...command], '', {
    DATABASE_URL: database.url(),
    ...smtp.settings,
  })
const subjectsTo = (email: string) => smtp.mailsTo(email).map(({ subject }) => subject)

/** Adds a connection for a domain of its own. Returns both names. */
async function addConnection(columns = '', values = '') {
  const [slug, domain] = [`test-${randomUUID()}`, `${randomUUID()}.example.com`]
  await database.sql(
    `WITH added AS (
       INSERT INTO connections (slug, name, kind, settings${columns})
       VALUES ($1, 'Test', 'oidc', '{"issuer":"https://idp.example.com","clientId":"x"}'${values}) RETURNING id
     )
     INSERT INTO connection_domains SELECT $2, id, now() FROM added`,
    [slug, domain],
  )
  return { slug, domain }
}
/** Adds a user. */
async function addUser(email: string, columns = '', values = ''): Promise<string> {
  await database.sql(
    `INSERT INTO users (email, email_domain${columns}) VALUES ($1, split_part($1, '@', 2)${values})`,
    [email],
  )
  return email
}
/** The mails and tokens of a user, or null if there is no such user. */
async function stateOf(email: string) {
  const [user] = await database.sql(
    `SELECT ARRAY(SELECT kind FROM mails WHERE user_id = users.id) AS kinds,
       (SELECT extract(epoch FROM expires_at - created_at)::int / 86400 FROM reset_tokens WHERE user_id = users.id) AS days
     FROM users WHERE email = $1`,
    [email],
  )
  return user ?? null
}

test('an invitation has a link that works for 7 days, and can be repeated', async () => {
  const invited = await users('invite', 'Ada@example.com')
  expect(invited).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Added ada@example.com.'),
  })
  const [mail] = smtp.mailsTo('ada@example.com')
  expect(mail!.subject).toBe('You’re invited to Dashboard')
  expect(mail!.text).toMatch(/reset-password\?token=[\w-]{43}\n.*once, for 7 days/s)
  expect(mail!.text).toMatch(/You were invited on \w+ \d+, \d{4} at/)
  const sent = { kinds: ['invitation'], days: 7 }
  expect(await stateOf('ada@example.com')).toEqual(sent)

  const again = await users('invite', 'ada@example.com', '--language', 'de')
  expect(again, 'within a minute').toMatchObject({
    code: 2,
    stderr: expect.stringContaining('too many emails'),
  })
  await database.sql(`UPDATE mails SET requested_at = requested_at - interval '1 minute'`)
  expect((await users('invite', 'ada@example.com', '--language', 'de')).stdout).toContain(
    'Invited ada@example.com.',
  )
  expect(subjectsTo('ada@example.com')).toEqual([
    'You’re invited to Dashboard',
    'Einladung zu Dashboard',
  ])
})

test('a user who must use SSO is invited with a link to sign in', async () => {
  const { domain } = await addConnection()
  const added = `ada@${domain}`
  // a stored password can't be used
  const known = await addUser(`bob@${domain}`, ', password_hash', `, '$2b$12$'`)
  const exempt = await addUser(`eve@${domain}`, ', password_policy', `, 'allowed'`)
  const strict = await addUser('sso@example.com', ', password_policy', `, 'never'`)
  for (const email of [added, known, strict]) {
    const { code, stdout } = await users('invite', email)
    expect([code, stdout]).toEqual([0, expect.stringContaining(`ed ${email}.`)])
    const [mail] = smtp.mailsTo(email)
    expect(mail!.subject).toBe('You’re invited to Dashboard')
    expect(mail!.text).toContain('/sign-in\n')
    expect(mail!.raw).not.toContain('token=')
    expect(await stateOf(email)).toEqual({ kinds: ['sso-invitation'], days: null })
  }
  expect((await users('invite', exempt)).code).toBe(0)
  expect(await stateOf(exempt)).toEqual({ kinds: ['invitation'], days: 7 })
})

test('a guest who may only use SSO is invited with the start of the connection', async () => {
  const { slug } = await addConnection()
  const email = await addUser('guest@example.com', ', password_policy', `, 'never'`)
  await database.sql(
    `INSERT INTO identities (connection_id, issuer, subject, user_id)
     SELECT connections.id, 'x', 'x', users.id FROM connections, users WHERE slug = $1 AND email = $2`,
    [slug, email],
  )
  expect((await users('invite', email)).code).toBe(0)
  expect(smtp.mailsTo(email)[0]!.text).toContain(`/api/auth/sso/${slug}/start\n`)
})

test('an address that can’t be invited is not added, and gets no email', async () => {
  const off = await addConnection(', disabled_at', ', now()')
  const ofBoth = await addConnection(', allow_passwords, disabled_at', ', true, now()')
  const password = await addUser('has@example.com', ', password_hash', `, '$2b$12$'`)
  const disabled = await addUser('off@example.com', ', disabled_at', ', now()')
  const both = await addUser(`bob@${off.domain}`)
  for (const [email, reason, state] of [
    [password, '/forgot-password', { kinds: [], days: null }],
    [disabled, `npm run users -- enable ${disabled}`, { kinds: [], days: null }],
    [`ada@${off.domain}`, `npm run connections -- enable ${off.slug}`, null],
    [both, `npm run connections -- enable ${off.slug}`, { kinds: [], days: null }],
  ] as const) {
    const { code, stdout, stderr } = await users('invite', email)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)])
    expect(await stateOf(email), email).toEqual(state)
    expect(subjectsTo(email)).toEqual([])
  }
  // passwords are allowed there, so the disabled connection does not matter
  expect((await users('invite', `ada@${ofBoth.domain}`)).code).toBe(0)
})
