import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { project } from '../../bin/dev/local'
import { embeddedPostgresUrl, startEmbeddedPostgres } from '../../bin/dev/postgres'
import * as routes from '../../lib/contract/routes'
import { readRefreshToken } from '../../lib/session/tokens'
import { createUser } from '../../lib/user/user'
import { addTestConnection } from '../support/databases/connection'
import { openOwnDatabase } from '../support/databases/own-database'
import { newFreshSession, newPasskeyUser } from '../support/databases/passkey'
import { newFactorUser } from '../support/databases/second-factor'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  resetPath,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { runScript } from '../support/servers/command'
import { freePort, production } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'

const run = (command: string[], settings: Record<string, string | undefined> = {}) =>
  runScript(command, '', settings)

const longPasswords =
  'Users whose old password has more than 72 bytes must reset it: bcrypt ignored the other bytes, and this app rejects such a password.'

const failure = (code: number, message: string) => ({
  code,
  stderr: expect.stringContaining(message),
})

test.describe('npm run mail', () => {
  test('sends a test email or prints the error; retries and counts queued emails', async () => {
    const database = await openOwnDatabase()
    const [smtp, untrusted] = [await startSmtp(), await startSmtp({ tls: true })]
    const settings = { DATABASE_URL: database.url(), ...smtp.settings }
    const mailWith = (more: object, ...command: string[]) =>
      run(['mail', '--', ...command], { ...settings, ...more })
    const mail = (...command: string[]) => mailWith({}, ...command)
    try {
      const { stdout } = await mail('test', 'ada@example.com')
      expect(stdout).toBe('The server accepted a test email to ada@example.com.\n')
      expect(smtp.mailsTo('ada@example.com')[0]!.subject).toBe('Test of Dashboard')
      smtp.respondWith(() => 550)
      expect(await mail('test', 'ada@example.com')).toMatchObject(failure(1, 'EENVELOPE'))

      // Only a mail server on this host may lack TLS. This one is on this host, but its
      // name does not show that.
      const remote = { SMTP_URL: smtp.settings.SMTP_URL.replace('127.0.0.1', '0.0.0.0') }
      const named = smtp.recipients.length
      expect(await mailWith(remote, 'test', 'ada@example.com')).toMatchObject(
        failure(1, 'ETLS'),
      )
      expect(smtp.recipients).toHaveLength(named)

      const withPassword = (password: string) => ({
        SMTP_URL: smtp.settings.SMTP_URL.replace('//', `//ada:${password}@`),
      })
      expect(await mailWith(withPassword('x'), 'test', 'ada@example.com')).toMatchObject(
        failure(1, 'an app password'),
      )
      const malformed = failure(
        1,
        'SMTP_URL has a % that encodes nothing; write %25 for %',
      )
      expect(
        await mailWith(withPassword('100%'), 'test', 'ada@example.com'),
      ).toMatchObject(malformed)

      // With TLS, the certificate must be trusted, even on this host.
      expect(await mailWith(untrusted.settings, 'test', 'ada@example.com')).toMatchObject(
        failure(1, 'certificate'),
      )
      expect(untrusted.recipients).toEqual([])

      smtp.respondWith(() => 451)
      const invite = ['users', '--', 'invite', 'Ada@example.com', '--language', 'de']
      expect((await run(invite, settings)).stdout).toContain('Added ada@example.com.')
      expect(JSON.parse((await mail('status', '--json')).stdout)).toMatchObject({
        kind: 'invitation',
        waiting: 1,
        tried: 1,
      })
      smtp.respondWith(() => undefined)
      await database.sql(`UPDATE mails SET due_at = now() + interval '5 minutes'`)
      expect((await mail('retry')).stdout).toContain(
        'invitation: 1 sent, 0 waiting (0 of them after an attempt)',
      )
      expect(smtp.mailsTo('ada@example.com')[1]!.subject).toBe('Einladung zu Dashboard')

      expect(await mail('test', 'a@x, b@y')).toMatchObject(
        failure(2, 'is not an email address'),
      )
      const without = await run(['mail', '--', 'retry'], { DATABASE_URL: database.url() })
      expect(without).toMatchObject({
        code: 2,
        stderr: 'SMTP_URL and MAIL_FROM are not set.\n',
      })
    } finally {
      await untrusted.stop()
      await smtp.stop()
      await database.drop()
    }
  })
})

test.describe('npm run users', () => {
  const users = (...command: string[]) => run(['users', '--', ...command])

  test('add creates a user only once, and --sso-only forbids resets', async ({
    sql,
    post,
  }) => {
    const [plain, sso] = [
      `Plain-${Date.now()}@example.com`,
      `sso-${Date.now()}@example.com`,
    ]
    expect((await users('add', plain)).stdout).toBe(`Added ${plain.toLowerCase()}.\n`)
    expect(await users('add', plain)).toMatchObject({
      code: 2,
      stderr: `There is already a user ${plain}.\n`,
    })
    expect((await users('add', sso, '--sso-only')).code).toBe(0)
    const found = await sql(
      'SELECT id, email, password_policy FROM users WHERE email = ANY ($1) ORDER BY email',
      [[plain.toLowerCase(), sso]],
    )
    expect(found.map(({ password_policy }) => password_policy)).toEqual([null, 'never'])
    const token = await newToken(found[1] as User)
    expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)
  })

  test('stores a domain in ASCII, and finds users whose domain is stored in ASCII or in Unicode', async ({
    sql,
  }) => {
    const domain = `${Date.now()}.example.com`
    const [unicode, ascii] = [`ada@bücher.${domain}`, `ada@xn--bcher-kva.${domain}`]
    const imported = `bob@bücher.${domain}`
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
      [imported],
    )
    expect((await users('add', `Ada@Bücher.${domain}`)).stdout).toBe(`Added ${ascii}.\n`)
    for (const form of [unicode, ascii, imported, `bob@xn--bcher-kva.${domain}`])
      expect(await createUser(form), form).toBe(false)
    expect((await users('show', unicode)).stdout).toContain(ascii)
    expect((await users('disable', `bob@xn--bcher-kva.${domain}`)).stdout).toContain(
      `Disabled ${imported}.`,
    )
    expect(
      await sql('SELECT email FROM users WHERE email LIKE $1 ORDER BY email', [
        `%.${domain}`,
      ]),
    ).toEqual([{ email: ascii }, { email: imported }])
  })

  test('disable ends all sessions, codes and reset tokens, and enable restores none', async ({
    user,
    post,
    sql,
  }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const [code, token] = [await newCode(user), await newToken(user)]
    const disabled = await users('disable', user.email.toUpperCase())
    expect(disabled.stdout).toContain(`Disabled ${user.email}. Sessions ended: 1.\n`)
    const [, since] = (await users('list')).stdout.match(
      new RegExp(`^${user.email}  disabled since (\\S+)  last sign-in `, 'm'),
    )!
    // the time is not shifted by a time zone
    expect(Math.abs(Date.now() - Date.parse(since!))).toBeLessThan(15 * 60_000)
    expect((await post(exchangePath, { code: await newCode(user) })).status).toBe(400)
    expect((await users('enable', user.email)).stdout).toBe(
      `${user.email} can sign in again.\n`,
    )
    expect(
      (await post(routes.refreshSession.path, { refreshToken: body.refreshToken }))
        .status,
    ).toBe(400)
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)
    expect(
      await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
        user.id,
      ]),
    ).toEqual([])
    expect((await post(exchangePath, { code: await newCode(user) })).status).toBe(200)
  })

  test('show lists the live sessions, and sign-out ends them', async ({ user, post }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    await post(exchangePath, { code: await newCode(user) })
    const { sessionId } = readRefreshToken(body.refreshToken!)!
    await post(routes.refreshSession.path, { refreshToken: body.refreshToken })
    const shown = await users('show', user.email)
    const head = `^${user.email}  ${user.id}\nCreated 2.*Z, has no password\nLast sign-in: 2.*Z, a callback of another app\n`
    expect(shown.stdout).toMatch(new RegExp(`${head}Live sessions: 2\n`))
    const times = 'began 2.*Z, renewed 2.*Z, ends 2.*Z'
    expect(shown.stdout).toMatch(
      new RegExp(`^  ${sessionId}  ${times}, a callback of another app$`, 'm'),
    )
    const { sessions, ...object } = JSON.parse(
      (await users('show', user.email, '--json')).stdout,
    )
    expect(object).toMatchObject({
      email: user.email,
      hasPassword: false,
      identities: [],
      lastSignIn: sessions[0],
    })
    expect(sessions).toMatchObject([
      {},
      { id: sessionId, method: 'code', connection: null, device: null },
    ])
    expect((await users('sign-out', user.email)).stdout).toContain('Sessions ended: 2.')
    expect((await users('show', user.email)).stdout).toContain('Live sessions: 0')
    expect((await post(exchangePath, { code: await newCode(user) })).status).toBe(200)
  })

  test('show prints the second factor, and remove-second-factor removes it and ends all sessions', async ({
    sql,
  }) => {
    const user = await newFactorUser(sql)
    await sql(
      `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day')`,
      [user.id],
    )
    await sql('UPDATE second_factors SET failures = 7 WHERE user_id = $1', [user.id])
    const { stdout } = await users('show', user.email)
    expect(stdout).toMatch(
      /\nSecond factor since 2.*Z, recovery codes left: 10, wrong codes: 7\n/,
    )
    const shown = JSON.parse((await users('show', user.email, '--json')).stdout)
    expect(shown.secondFactor).toMatchObject({ recoveryCodesLeft: 10, failures: 7 })
    const removed = (await users('remove-second-factor', user.email)).stdout
    expect(removed).toMatch(
      /Sessions ended: 1\.\n.*\nThis is what an attacker who has the password would ask for/,
    )
    expect((await users('show', user.email)).stdout).not.toContain('Second factor')
    expect(await users('remove-second-factor', user.email)).toMatchObject(
      failure(2, 'has no second factor'),
    )
    const left =
      'SELECT user_id FROM second_factors UNION SELECT user_id FROM recovery_codes'
    expect(
      await sql(`SELECT FROM (${left}) AS remaining WHERE user_id = $1`, [user.id]),
    ).toEqual([])
  })

  test('show prints the passkeys, and remove-passkeys removes them and ends all sessions', async ({
    sql,
  }) => {
    const user = await newPasskeyUser(sql)
    await sql(`UPDATE passkeys SET name = 'My key' WHERE user_id = $1`, [user.id])
    await newFreshSession(sql, user)
    const { stdout } = await users('show', user.email)
    expect(stdout).toMatch(/\nPasskey My key, synced, added 2.*Z, never used\n/)
    const shown = JSON.parse((await users('show', user.email, '--json')).stdout)
    expect(shown.passkeys).toEqual([
      { name: 'My key', synced: true, createdAt: expect.any(String), lastUsedAt: null },
    ])

    const removed = (await users('remove-passkeys', user.email)).stdout
    expect(removed).toMatch(
      /Sessions ended: 1\.\n.*\nThis is what an attacker who has the password would ask for/,
    )
    expect(await users('remove-passkeys', user.email)).toMatchObject(
      failure(2, 'has no passkey'),
    )
    expect(await sql('SELECT FROM passkeys WHERE user_id = $1', [user.id])).toEqual([])
  })

  test('show prints the method, the connection and the device of a sign-in, even if its session has ended', async ({
    user,
    sql,
  }) => {
    const connection = await addTestConnection(`${randomUUID()}.example.com`, {
      allowPasswords: true,
    })
    await sql('UPDATE users SET password_hash = $2 WHERE id = $1', [user.id, 'any'])
    const identity = {
      connectionId: connection.id,
      issuer: 'https://idp.example.com',
      subject: 'ada',
    }
    await sql(
      'INSERT INTO identities (connection_id, issuer, subject, user_id) VALUES ($1, $2, $3, $4)',
      [...Object.values(identity), user.id],
    )
    const add = (
      method: string,
      connectionId: string | null,
      device: string | null,
      age: string,
      revoked: boolean,
    ) =>
      sql(
        `INSERT INTO sessions (user_id, method, connection_id, device, created_at, expires_at, revoked_at)
         VALUES ($1, $2, $3, $4, now() - $5::interval, now() + interval '1 day', CASE WHEN $6 THEN now() END)`,
        [user.id, method, connectionId, device, age, revoked],
      )
    await add('password', null, 'Safari on iPhone', '3 hours', false)
    await add('sso', randomUUID(), null, '2 hours', false)
    await add('sso', connection.id, 'Edge on Windows', '1 hour', true)
    const { stdout } = await users('show', user.email)
    expect(stdout).toContain('has a password\nLinked to ')
    expect(stdout).toContain(`Linked to ${connection.slug} as ada\n`)
    expect(stdout).toMatch(
      new RegExp(
        `Last sign-in: .*Z, ${connection.slug}, Edge on Windows\nLive sessions: 2\n`,
      ),
    )
    expect(stdout).toMatch(
      /ends .*Z, a removed connection\n.*ends .*Z, password, Safari on iPhone\n/,
    )
  })

  test('rename changes the user’s address, and ends sessions, codes and tokens', async ({
    user,
    post,
    sql,
  }) => {
    const address = `Ada.${Date.now()}@Bücher.example`
    const stored = address.toLowerCase().replace('bücher', 'xn--bcher-kva')
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const [code, token] = [await newCode(user), await newToken(user)]
    const renamed = await users('rename', user.email, address)
    expect(renamed.stdout).toContain(
      `Renamed ${user.email} to ${stored}. Sessions ended: 1.\n`,
    )
    expect(
      (await post(routes.refreshSession.path, { refreshToken: body.refreshToken }))
        .status,
    ).toBe(400)
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)
    const [row] = await sql('SELECT email, email_domain FROM users WHERE id = $1', [
      user.id,
    ])
    expect(row).toEqual({ email: stored, email_domain: 'xn--bcher-kva.example' })

    // there is no mail server, which would send a queued notice days later
    expect(renamed.stdout).toContain('No mail server is set up: tell the user.\n')
    expect(await sql('SELECT 1 FROM mails WHERE user_id = $1', [user.id])).toEqual([])
    expect((await post(exchangePath, { code: await newCode(user) })).status).toBe(200)
  })

  test('rename notifies both addresses, and queued emails are not sent to the old address', async () => {
    const database = await openOwnDatabase()
    const smtp = await startSmtp()
    const withMail = (...command: string[]) =>
      run(['users', '--', ...command], { DATABASE_URL: database.url(), ...smtp.settings })
    try {
      smtp.respondWith(() => 451)
      expect((await withMail('invite', 'ada@example.com')).code).toBe(0)
      smtp.respondWith(() => undefined)
      const { stdout } = await withMail(
        'rename',
        'ada@example.com',
        'ada@example.org',
        '--language',
        'de',
      )
      expect(stdout).toContain('A notice to both addresses is on its way.\n')
      for (const address of ['ada@example.com', 'ada@example.org'])
        expect(smtp.mailsTo(address).map(({ subject }) => subject)).toEqual([
          expect.stringContaining('wurde geändert'),
        ])
    } finally {
      await smtp.stop()
      await database.drop()
    }
  })

  test('rename rejects every form of the address of another user', async ({
    user,
    sql,
  }) => {
    const domain = `${Date.now()}.example.com`
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
      [`ada@bücher.${domain}`],
    )
    const taken = await users('rename', user.email, `Ada@xn--bcher-kva.${domain}`)
    expect(taken).toMatchObject({
      code: 2,
      stderr: `Another user has Ada@xn--bcher-kva.${domain}.\n`,
    })
    expect(await users('rename', user.email, 'nobody')).toMatchObject({ code: 2 })
    expect((await users('show', user.email)).code).toBe(0)
  })

  test('delete removes the user and all rows that belong to the user', async ({
    user,
    post,
    sql,
  }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const [code, token] = [await newCode(user), await newToken(user)]
    const deleted = await users('delete', user.email)
    expect(deleted.stdout).toContain(
      `Deleted ${user.email}. Links to identity providers: 0. Sessions ended: 1.\n`,
    )
    expect(deleted.stdout).toContain(user.id)
    expect(
      (await post(routes.refreshSession.path, { refreshToken: body.refreshToken }))
        .status,
    ).toBe(400)
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)
    const tables = await sql(`
      SELECT table_name AS name FROM information_schema.columns WHERE column_name = 'user_id' AND table_schema = 'public'`)
    expect(tables.length).toBeGreaterThan(4)
    for (const { name } of tables)
      expect(await sql(`SELECT 1 FROM ${name} WHERE user_id = $1`, [user.id])).toEqual([])
  })

  test('import adds either all users of a file or none, and overwrites no user', async ({
    user,
    sql,
  }) => {
    const stamp = Date.now()
    const domain = `sso-${stamp}.example.com`
    await addTestConnection(domain)
    const file = join(tmpdir(), `users-${stamp}.csv`)
    const imported = async (...lines: string[]) => {
      writeFileSync(file, lines.join('\r\n'))
      return users('import', file)
    }
    const [ada, bob, eve] = [
      `ada-${stamp}@example.com`,
      `Bob@bücher-${stamp}.example`,
      `eve@${domain}`,
    ]
    const hash = await bcrypt.hash('lantern meadow otter', 4)
    const existing = await imported(ada, `${user.email},${hash}`)
    expect(existing).toMatchObject({
      code: 2,
      stderr: `Nothing was imported.\n${user.email} is already a user.\n`,
    })
    expect(await sql('SELECT 1 FROM users WHERE email = $1', [ada])).toEqual([])
    const added = await imported(
      'email,password_hash',
      `"${ada}","${hash.replace('$2b', '$2y')}"`,
      bob,
      `${eve},${hash}`,
    )
    expect(added).toEqual({
      code: 0,
      stdout: `Users imported: 3.\n${longPasswords}\nTheir domain requires SSO, so their password can’t be used:\n  ${eve}\n`,
      stderr: '',
    })
    expect(await sql('SELECT password_hash FROM users WHERE email = $1', [ada])).toEqual([
      { password_hash: hash.replace('$2b', '$2y') },
    ])
    expect((await users('show', bob)).stdout).toContain('has no password')
  })

  test('import reads a list of another program, or says what to change', async ({
    sql,
  }) => {
    const stamp = Date.now()
    const hash = await bcrypt.hash('lantern meadow otter', 4)
    const imported = (list: string | Buffer) => {
      const file = join(tmpdir(), `users-${stamp}-list.csv`)
      writeFileSync(file, list)
      return users('import', file)
    }
    const [ada, bob] = [`ada-${stamp}@example.com`, `bob-${stamp}@example.com`]
    const excel = `Name;E-Mail-Adresse;Passwort;\r\n"Lovelace; Ada";${ada};{bcrypt}${hash};\r\n;;;\r\n`
    expect(await imported(`\uFEFF${excel}`)).toEqual({
      code: 0,
      stdout: `Users imported: 1.\nColumns not imported: Name.\n${longPasswords}\n`,
      stderr: '',
    })
    expect(
      await imported(Buffer.from(`\uFEFFE-post\tLösenord\r\n${bob}\t\r\n`, 'utf16le')),
    ).toEqual({ code: 0, stdout: 'Users imported: 1.\n', stderr: '' })
    expect(
      await sql(
        'SELECT email, password_hash FROM users WHERE email = ANY ($1) ORDER BY email',
        [[ada, bob]],
      ),
    ).toEqual([
      { email: ada, password_hash: hash },
      { email: bob, password_hash: null },
    ])

    const latin1 = Buffer.from(`email\r\nren\xe9e-${stamp}@example.com\r\n`, 'latin1')
    expect(await imported(latin1)).toMatchObject(failure(2, 'not in UTF-8: see line 2.'))
    const django = `email,password\ncarol-${stamp}@example.com,bcrypt_sha256$${hash}`
    expect(await imported(django)).toMatchObject(
      failure(2, 'Line 2: the hash begins with bcrypt_sha256$'),
    )
    expect(
      await sql(`SELECT 1 FROM users WHERE email LIKE '%-${stamp}@example.com'`),
    ).toHaveLength(2)
  })

  test('import adds many users in few statements, even slowly, or none if one of them fails', async () => {
    const { sql, drop, url } = await openOwnDatabase()
    try {
      await sql('CREATE TABLE inserts ()')
      await sql(`
        CREATE FUNCTION count_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO inserts DEFAULT VALUES;
          IF (SELECT count(*) FROM inserts) <= 3 THEN PERFORM pg_sleep(2.5); END IF;
          IF (SELECT count(*) FROM inserts) > 60 THEN RAISE 'no more'; END IF;
          RETURN NULL;
        END $$`)
      await sql(
        'CREATE TRIGGER count_insert AFTER INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION count_insert()',
      )
      const imported = (name: string) => {
        const lines = Array.from(
          { length: 50_000 },
          (_, row) => `${name}-${row}@example.com`,
        )
        const settings = { DATABASE_URL: url() }
        return runScript(['users', 'import', '-'], lines.join('\n'), settings)
      }
      const count = async (table: string) =>
        (await sql(`SELECT count(*)::int AS rows FROM ${table}`))[0]!.rows
      expect(await imported('ada')).toEqual({
        code: 0,
        stdout: 'Users imported: 50000.\n',
        stderr: [10_000, 20_000, 30_000, 40_000, 50_000]
          .map((added) => `Users added: ${added} of 50000 …\n`)
          .join(''),
      })
      expect([await count('users'), await count('inserts')]).toEqual([50_000, 50])
      expect(await imported('bob')).toMatchObject(failure(1, 'no more'))
      expect([await count('users'), await count('inserts')]).toEqual([50_000, 50])
      expect((await imported('ada')).stderr).toMatch(
        /^Nothing was imported\.\nada-0@example\.com is already a user\.\n(.*\n){19}… and 49980 more\.\n$/,
      )
    } finally {
      await drop()
    }
  })

  test('list prints the users in order, even if there are more than fit into one query', async () => {
    const { sql, drop, url } = await openOwnDatabase()
    try {
      await sql(
        `INSERT INTO users (email, email_domain) SELECT 'user-' || number || '@example.com', 'example.com' FROM generate_series(1, 40001) number`,
      )
      const list = (more: string) => {
        const script = `set -o pipefail; ${process.execPath} ${production}bin/users.js list ${more}`
        const options = { env: { ...process.env, DATABASE_URL: url() }, maxBuffer: 2e6 }
        return promisify(execFile)('bash', ['-c', script], options)
      }
      const emails = (await sql('SELECT email FROM users ORDER BY email')).map(
        ({ email }) => email,
      )
      expect((await list('| (sleep 0.5; cat)')).stdout).toBe(`${emails.join('\n')}\n`) // a slow reader
      const { stdout, stderr } = await list('--json | head -1')
      expect([JSON.parse(stdout).email, stderr]).toEqual([emails[0], ''])
    } finally {
      await drop()
    }
  })

  test('explains an unknown user or an invalid address, and changes nothing', async ({
    user,
    sql,
  }) => {
    const unknown =
      'There is no user nobody@example.com. Add it with npm run users -- add nobody@example.com\n'
    expect(await users('disable', 'nobody@example.com')).toMatchObject({
      code: 2,
      stderr: unknown,
    })
    const imported = `${Date.now()},imported@example.com`
    const noAddress = 'That is not an email address, like ada@example.com.\n'
    const mail = { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'login@example.com' }
    for (const command of ['add', 'invite'])
      expect(await run(['users', command, imported], mail)).toMatchObject({
        code: 2,
        stderr: noAddress,
      })
    expect(await sql('SELECT 1 FROM users WHERE email = $1', [imported])).toEqual([])
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
      [imported],
    )
    expect((await users('disable', imported)).code).toBe(0)
    expect((await users('show', user.email)).stdout).not.toContain('disabled')
  })
})

test.describe('npm run issue', () => {
  test('--json prints a valid secret, its URL, its expiry, and nothing else', async ({
    user,
    post,
    url,
  }) => {
    const { stdout } = await run([
      'issue',
      '--',
      'sso-code',
      user.email.toUpperCase(),
      '--json',
    ])
    const issued = JSON.parse(stdout)
    keepSecret(issued.secret)
    expect(issued).toEqual({
      secret: expect.stringMatching(/^[\w-]{43}$/),
      url: `${url}/sso/callback?code=${issued.secret}`,
      expiresAt: expect.any(String),
    })
    const seconds = (Date.parse(issued.expiresAt) - Date.now()) / 1000
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThanOrEqual(61)
    expect((await post(exchangePath, { code: issued.secret })).status).toBe(200)

    const token = JSON.parse(
      (await run(['issue', '--', 'reset-token', user.email, '--json'])).stdout,
    )
    keepSecret(token.secret)
    expect(token.url).toBe(`${url}/reset-password?token=${token.secret}`)
    expect(
      (await post(resetPath, { token: token.secret, password: newPassword() })).status,
    ).toBe(200)
  })

  test('issue creates a user only with --create', async ({ sql }) => {
    const email = `new-${Date.now()}@example.com`
    const rejected = await run(['issue', '--', 'sso-code', email])
    const stderr = `There is no user ${email}. Add --create to create it.\n`
    expect(rejected).toEqual({ code: 2, stdout: '', stderr })
    const created = await run(['issue', '--', 'sso-code', email, '--create'])
    keepSecret(created.stdout.match(/code=([\w-]{43})/)![1]!)
    expect(created.code).toBe(0)
    expect(await sql('SELECT 1 FROM users WHERE email = $1', [email])).toHaveLength(1)
    const noAddress = failure(2, 'is not an email address')
    expect(
      await run(['issue', '--', 'sso-code', 'a,b@example.com', '--create']),
    ).toMatchObject(noAddress)
  })
})

test('the breached-password check is off by default in local development', async () => {
  const script = `
    const { withDatabase } = await import('${project}bin/dev/local.ts')
    await withDatabase(async () => console.log(process.env.PASSWORD_BREACH_CHECK))()`
  const check = (setting: string) =>
    promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', script],
      {
        cwd: project,
        env: { ...process.env, NODE_ENV: 'development', PASSWORD_BREACH_CHECK: setting },
      },
    )
  expect((await check('')).stdout).toBe('false\n')
  expect((await check('true')).stdout).toBe('true\n')
})

test('npm run clean-up prints how many rows it deleted', async () => {
  const { code, stdout } = await run(['clean-up'])
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /exchange_codes: \d+ deleted\nauthorization_codes: \d+ deleted\nreset_tokens: \d+ deleted/,
  )
})

for (const [program, rest, problem] of [
  ['clean-up', 'now', 'too many arguments. Expected 0 arguments but got 1.'],
  ['connections', 'add ldap acme', "unknown command 'ldap'"],
  ['issue', 'password ada@example.com', "unknown command 'password'"],
  ['keys', 'list --all', "unknown option '--all'"],
  ['mail', 'test', "missing required argument 'address'"],
  ['migrate', '--json', "unknown option '--json'"],
  ['users', 'disable ada@example.com --sso-only', "unknown option '--sso-only'"],
  [
    'users',
    'invite ada@example.com --language',
    "option '--language <tag>' argument missing",
  ],
] as const) {
  test(`npm run ${program} ${rest} prints the error and its usage`, async () => {
    const usage = `Usage: npm run ${program}`
    expect(await run([program, '--help'])).toEqual({
      code: 0,
      stdout: expect.stringContaining(usage),
      stderr: '',
    })
    expect(await run([program, ...rest.split(' ')])).toMatchObject(
      failure(2, `error: ${problem}\n\n${usage}`),
    )
  })
}

test.describe('npm start', () => {
  const nothing = Object.fromEntries(
    ['DATABASE_URL', 'PUBLIC_URL', 'SESSION_SIGNING_KEYS', 'RATE_LIMIT'].map((name) => [
      name,
      '',
    ]),
  )

  test('does not start without required settings, and lists all that are missing', async () => {
    const { code, stderr } = await run(['start'], {
      ...nothing,
      PORT: String(await freePort()),
    })
    expect(code).toBe(1)
    for (const name of [
      'DATABASE_URL',
      'PUBLIC_URL',
      'SESSION_SIGNING_KEYS',
      'REDIS_URL',
    ])
      expect(stderr).toContain(`  ${name} `)
  })

  test('reports a port that is in use', async ({ url }) => {
    const { port } = new URL(url)
    const { code, stderr } = await run(['start'], { PORT: port })
    expect(code).toBe(1)
    expect(stderr).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}`)
  })

  test('stops if npm receives SIGTERM, which a container runtime sends', async () => {
    const port = await freePort()
    const npm = spawn('npm', ['start'], {
      cwd: project,
      env: { ...process.env, PORT: String(port) },
    })
    const ended = once(npm, 'exit')
    const status = () =>
      fetch(`http://localhost:${port}/api/health`).then(
        (response) => response.status,
        () => 0,
      )
    await expect.poll(status, { timeout: 20_000 }).toBe(200)
    npm.kill('SIGTERM')
    await ended
    await expect.poll(status).toBe(0)
  })
})

test.describe('the embedded PostgreSQL', () => {
  let folder: string
  test.beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'embedded-'))
  })
  test.afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const query = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }
  const postmaster = () =>
    Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])

  /**
   * Starts PostgreSQL in another process. Returns that process when PostgreSQL is
   * running.
   */
  const startElsewhere = async () => {
    const script = `
      const { startEmbeddedPostgres } = await import('${project}bin/dev/postgres.ts')
      await startEmbeddedPostgres('${folder}')
      process.stdout.write('started')
      setInterval(() => {}, 1_000)`
    const owner = spawn(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', script],
      {
        cwd: project,
      },
    )
    await once(owner.stdout, 'data')
    return owner
  }

  test('preserves its data, and runs until it is released', async () => {
    const first = await startEmbeddedPostgres(folder)
    expect(embeddedPostgresUrl(folder)).toBe(first.url)
    await query(
      first.url,
      `CREATE TABLE kept AS SELECT 'lower' = lower('LOWER') AS works`,
    )
    await first.release()
    expect(embeddedPostgresUrl(folder)).toBe(null)
    await expect(query(first.url, 'SELECT 1')).rejects.toThrow()
    const second = await startEmbeddedPostgres(folder)
    expect(await query(second.url, 'SELECT works FROM kept')).toEqual([{ works: true }])
    await second.release()
  })

  test('belongs to one process, and another process can use it after the first was killed', async () => {
    const owner = await startElsewhere()
    const url = embeddedPostgresUrl(folder)!
    expect(await query(url, 'SELECT 1 AS works')).toEqual([{ works: 1 }])
    await expect(startEmbeddedPostgres(folder)).rejects.toThrow(
      `Process ${owner.pid} uses the PostgreSQL in ${folder}`,
    )
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const taken = await startEmbeddedPostgres(folder)
    expect(await query(taken.url, 'SELECT 1 AS works')).toEqual([{ works: 1 }])
    await taken.release()
  })

  test('can be used if another process has the number of the killed owner', async () => {
    const owner = await startElsewhere()
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const other = spawn('sleep', ['60'])
    const file = join(folder, 'owner')
    const identity = readFileSync(file, 'utf8')
    writeFileSync(file, identity.replace(String(owner.pid), String(other.pid)))
    const taken = await startEmbeddedPostgres(folder)
    expect(await query(taken.url, 'SELECT 1 AS works')).toEqual([{ works: 1 }])
    await taken.release()
    other.kill()
  })

  test('restarts after kill -9', async () => {
    const killed = await startEmbeddedPostgres(folder)
    await query(killed.url, 'CREATE TABLE kept AS SELECT 1 AS works')
    process.kill(postmaster(), 'SIGKILL')
    const back = await startEmbeddedPostgres(folder)
    expect(await query(back.url, 'SELECT works FROM kept')).toEqual([{ works: 1 }])
    await back.release()
  })

  test('uses another port if the default port is in use', async () => {
    const usual = await startEmbeddedPostgres(join(folder, 'one'))
    const other = await startEmbeddedPostgres(join(folder, 'two'))
    expect(new URL(other.url).port).not.toBe(new URL(usual.url).port)
    await usual.release()
    await other.release()
  })
})
