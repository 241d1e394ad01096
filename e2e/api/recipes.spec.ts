import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type JWTPayload, SignJWT } from 'jose'
import pg from 'pg'
import { project } from '../../bin/dev/local'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { openDashboard, secretOf } from '../support/browsers/dashboard'
import { openOwnDatabase } from '../support/databases/own-database'
import { blocks } from '../support/documents/documents'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'

// Compiles and runs the named code blocks of docs/, with the URL of the test server.
// plans.spec.ts and database-role.spec.ts run those for database roles.
const publicUrl = 'https://login.example.com'
const folder = `${project}e2e/results/recipes/`

test.describe.configure({ mode: 'serial' })

const statement = (name: string) => blocks[name]!.text
const run = async (name: string) => import(`${folder}${name}.ts`)
/** The recipes for dashboards on other hosts are excerpts from the imported file. */
const dashboard = () => import('../../examples/dashboard/login.js')

test.beforeAll(async ({ url }) => {
  const settings = { CLIENT_ID: 'app', CLIENT_SECRET: secretOf('app') }
  Object.assign(process.env, { LOGIN_URL: url, ...settings })
  mkdirSync(folder, { recursive: true })
  for (const [name, { language, text }] of Object.entries(blocks)) {
    if (language === 'ts')
      writeFileSync(`${folder}${name}.ts`, text.replaceAll(publicUrl, url))
  }
})

test('the TypeScript in the documents compiles', () => {
  const compiled = Object.keys(blocks).filter((name) => blocks[name]!.language === 'ts')
  expect(compiled).toEqual([
    'same-host',
    'verify',
    'require-second-factor',
    'require-passkey',
    'alive',
    'sso-callback',
    'forgot-password',
  ])
  const config = {
    extends: `${project}tsconfig.json`,
    compilerOptions: { incremental: false },
    include: ['*.ts'],
  }
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify({ ...config, exclude: [] }))
  execFileSync(`${project}node_modules/.bin/tsc`, ['--noEmit', '-p', folder], {
    cwd: project,
    stdio: 'pipe',
  })
})

test('the JavaScript in the documents is the same as in the examples', () => {
  const sources = [
    'dashboard/login',
    'dashboard/server',
    'widget/widget',
    'widget/server',
  ]
  const example = sources.map((name) =>
    readFileSync(`${project}examples/${name}.js`, 'utf8'),
  )
  // e2e/providers/clients.spec.ts runs those of docs/clients.md
  const recipes = Object.keys(blocks).filter((name) => {
    const { document, language } = blocks[name]!
    return language === 'js' && document !== 'docs/clients.md'
  })
  expect(recipes).toEqual([
    'sign-in',
    'renew',
    'sign-out',
    'widget-session',
    'widget-request',
    'verify-widget',
  ])
  for (const name of recipes)
    expect(example.join('\n'), name).toContain(blocks[name]!.text)
})

test('runs an SSO callback, and a dashboard that verifies the session', async ({
  user,
  post,
  sql,
  url,
}) => {
  const { finishSignIn } = await run('sso-callback')
  const response = (await finishSignIn(user.id)) as Response
  const to = new URL(response.headers.get('location')!)
  expect([response.status, to.origin, to.pathname]).toEqual([303, url, '/sso/callback'])
  const { status, body } = await post(exchangePath, {
    code: keepSecret(to.searchParams.get('code')!),
  })
  expect(status).toBe(200)

  const { isAlive } = await run('alive')
  const { verifySession } = await run('verify')
  const claims = await verifySession(body.token!)
  expect(claims.sub).toBe(user.id)
  const altered = body.token!.replace(/.(?=.{40}$)/, (letter) =>
    letter === 'A' ? 'B' : 'A',
  )
  await expect(verifySession(altered)).rejects.toThrow()
  const child = (await openDashboard(url, body)).token
  const alive = (token: string) =>
    verifySession(token).then(async ({ sid }: JWTPayload) => [
      await isAlive(token),
      (await sql(statement('session-alive'), [sid])).length,
    ])
  for (const token of [body.token!, child]) expect(await alive(token)).toEqual([true, 1])
  await sql('UPDATE sessions SET revoked_at = now() WHERE id = $1', [claims.sid])
  for (const token of [body.token!, child]) expect(await alive(token)).toEqual([false, 0])
})

test('requires a recent sign-in with a second factor', async () => {
  const { requireSecondFactor } = await run('require-second-factor')
  const secondsAgo = (seconds: number) => Date.now() / 1000 - seconds
  const recent = { amr: ['pwd', 'otp', 'mfa'], auth_time: secondsAgo(290) }
  requireSecondFactor(recent, 300)
  for (const claims of [
    { auth_time: secondsAgo(310) },
    { auth_time: undefined },
    { amr: ['pwd'] },
    { amr: undefined },
  ])
    expect(
      () => requireSecondFactor({ ...recent, ...claims }, 300),
      JSON.stringify(claims),
    ).toThrow('Sign in again')
})

test('requires a recent sign-in with a passkey', async () => {
  const { requirePasskey } = await run('require-passkey')
  const auth_time = Date.now() / 1000 - 290
  requirePasskey({ amr: ['pop', 'user', 'mfa'], auth_time }, 300)
  for (const claims of [
    { amr: ['pwd', 'otp', 'mfa'], auth_time },
    { amr: undefined, auth_time },
    { amr: ['pop'], auth_time: auth_time - 20 },
  ])
    expect(() => requirePasskey(claims, 300), JSON.stringify(claims)).toThrow('Sign in')
})

test('verifies the issuer, the audience, the type and the expiry of a JWT', async ({
  url,
}) => {
  const { verifySession } = await run('verify')
  const [key] = JSON.parse(process.env.SESSION_SIGNING_KEYS!).keys
  const sign = (claims: object, typ = 'JWT') =>
    new SignJWT({
      iss: url,
      aud: 'dashboard',
      sub: 'ada',
      exp: Date.now() / 1000 + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ })
      .sign(createPrivateKey({ key, format: 'jwk' }))
  expect((await verifySession(await sign({}))).sub).toBe('ada')
  for (const claims of [
    { iss: 'https://example.com' },
    { aud: 'widget' },
    { exp: Date.now() / 1000 - 1 },
  ])
    await expect(
      verifySession(await sign(claims)),
      Object.keys(claims)[0],
    ).rejects.toThrow()
  await expect(verifySession(await sign({}, 'at+jwt'))).rejects.toThrow()
})

test('runs a forgot-password handler', async ({ user, post }) => {
  const { mailResetLink } = await run('forgot-password')
  const mails: [string, string][] = []
  const send = async (to: string, link: string) => void mails.push([to, link])
  await mailResetLink(user.email.toUpperCase(), send)
  await mailResetLink('nobody@example.com', send)
  expect(mails).toHaveLength(1)
  const token = keepSecret(new URL(mails[0]![1]).searchParams.get('token')!)
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
})

test('renews the tokens of a session from a dashboard on another host', async ({
  user,
  post,
  sql,
  url,
}) => {
  const { renewTokens } = await dashboard()
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const { refreshToken } = await openDashboard(url, body)
  const renewed = (await renewTokens(refreshToken))!
  for (const secret of [renewed.token, renewed.refreshToken]) keepSecret(secret)
  expect(renewed.claims.sub).toBe(user.id)
  await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
  expect(await renewTokens(renewed.refreshToken)).toBeNull()
})

test('does not end the session in the dashboard if the login is unavailable', async () => {
  const { isAlive, renewTokens } = await dashboard()
  const failures: Record<string, () => Promise<Response> | Response> = {
    'over the rate limit': () =>
      Response.json({ ok: false, code: 'RATE_LIMITED' }, { status: 429 }),
    'no database': () =>
      Response.json({ ok: false, code: 'SERVICE_UNAVAILABLE' }, { status: 503 }),
    'a page of a proxy': () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
    'no connection': () => Promise.reject(new TypeError('fetch failed')),
  }
  const { fetch } = globalThis
  try {
    for (const [failure, respond] of Object.entries(failures)) {
      globalThis.fetch = async () => respond()
      const tokens = { token: 'x', claims: { sub: 'x' } }
      for (const call of [() => renewTokens('x'), () => isAlive(tokens)])
        await expect(call(), failure).rejects.toThrow()
    }
  } finally {
    globalThis.fetch = fetch
  }
})

test('a dashboard on the same host renews the session after a 401, and repeats a GET once', async ({
  user,
  post,
  sql,
  page,
  context,
  url,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const cookie = (name: string, value: string) => ({
    name,
    value,
    url,
    httpOnly: true,
    sameSite: 'Lax' as const,
  })
  await context.addCookies([
    cookie('session', 'expired'),
    cookie('refresh', body.refreshToken!),
  ])
  await page.goto('/openapi.json')
  const compiled = `${folder}compiled`
  const compile = [
    '--ignoreConfig',
    '--module',
    'esnext',
    '--target',
    'es2022',
    '--outDir',
    compiled,
  ]
  execFileSync(`${project}node_modules/.bin/tsc`, [...compile, `${folder}same-host.ts`], {
    cwd: project,
    stdio: 'pipe',
  })
  const script = readFileSync(`${compiled}/same-host.js`, 'utf8')
  await page.addScriptTag({
    type: 'module',
    content: `${script}\nglobalThis.recipe = { request }`,
  })
  const sent: string[] = []
  page.on('request', (request) =>
    sent.push(`${request.method()} ${new URL(request.url()).pathname}`),
  )
  const request = (method: string) =>
    page.evaluate(
      async ([path, verb]) => {
        const { recipe } = window as unknown as { recipe: { request: typeof fetch } }
        return (await recipe.request(path!, { method: verb })).status
      },
      [routes.getSession.path, method] as const,
    )
  const [get, renew] = [
    `GET ${routes.getSession.path}`,
    `POST ${routes.refreshSession.path}`,
  ]
  expect(await request('GET')).toBe(200)
  expect(sent).toEqual([get, renew, get])
  await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
  await Promise.all([
    page.waitForURL((to) => to.pathname === '/'),
    request('GET').catch(() => {}),
  ])
  expect(new URL(page.url()).search).toBe('?next=%2Fopenapi.json')
  expect(sent.slice(3, 5)).toEqual([get, renew])
})

test('a dashboard on the same host can sign the user out', async ({
  user,
  post,
  sql,
  page,
  context,
  url,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  await context.addCookies([
    { name: 'session', value: body.token!, url, httpOnly: true, sameSite: 'Lax' },
  ])
  await page.goto('/openapi.json')
  await page.evaluate((html) => {
    document.body.innerHTML = html
  }, statement('same-host-sign-out'))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('/?signed-out')
  // With this cookie, the next sign-in asks the user to authenticate again.
  expect((await context.cookies()).map(({ name }) => name)).toEqual(['ask'])
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
      user.id,
    ]),
  ).toEqual([])
})

test('runs the SQL statements for apps in other languages', async ({
  user,
  post,
  sql,
}) => {
  const newSecret = () => keepSecret(randomBytes(32).toString('base64url'))
  const hash = (secret: string) => createHash('sha256').update(secret).digest()
  const [code, older, token] = [newSecret(), newSecret(), newSecret()]
  await sql(statement('sso-code'), [hash(code), user.id])
  expect((await post(exchangePath, { code })).status).toBe(200)
  expect((await post(exchangePath, { code })).status).toBe(400)

  await sql(statement('reset-token'), [hash(older), user.id])
  await sql('UPDATE reset_tokens SET attempts = 30 WHERE user_id = $1', [user.id]) // a new token starts at 0 attempts
  await sql(statement('reset-token'), [hash(token), user.id])
  const [seconds] = await sql(
    `SELECT (SELECT extract(epoch FROM expires_at - created_at)::int FROM exchange_codes WHERE user_id = $1) AS code,
       (SELECT extract(epoch FROM expires_at - created_at)::int FROM reset_tokens WHERE user_id = $1) AS "resetToken"`,
    [user.id],
  )
  expect(seconds).toEqual({ code: lifetimes.code, resetToken: lifetimes.resetToken })
  expect((await post(resetPath, { token: older, password: newPassword() })).status).toBe(
    400,
  )
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(200)
})

test('runs the transaction that disables a user', async ({ user, post, sql }) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const unused = await newCode(user)
  const token = await newToken(user)
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  for (const each of statement('disable-user').split(';').slice(0, -1))
    await client.query(each, each.includes('$1') ? [user.id] : [])
  await client.end()
  expect((await post(exchangePath, { code: unused })).status).toBe(400)
  expect((await post(resetPath, { token, password: newPassword() })).status).toBe(400)
  const { sid } = JSON.parse(
    Buffer.from(body.token!.split('.')[1]!, 'base64url').toString(),
  )
  expect(await sql(statement('session-alive'), [sid])).toEqual([])
  const alive = 'SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
  expect(await sql(alive, [user.id])).toEqual([])
})

test('the statements in the restore guide revoke all sessions, codes and tokens', async () => {
  const { sql, drop } = await openOwnDatabase()
  try {
    const later = `now() + interval '1 hour'`
    await sql(`
      WITH holder AS (INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.com') RETURNING id),
      code AS (INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256('x'), id, ${later} FROM holder),
      token AS (INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT sha256('x'), id, ${later} FROM holder)
      INSERT INTO sessions (user_id, expires_at) SELECT id, ${later} FROM holder`)
    const alive = `
      SELECT (SELECT count(*)::int FROM exchange_codes) AS codes, (SELECT count(*)::int FROM reset_tokens) AS tokens,
        (SELECT count(*)::int FROM sessions WHERE revoked_at IS NULL) AS sessions`
    expect(await sql(alive)).toEqual([{ codes: 1, tokens: 1, sessions: 1 }])
    await sql(statement('after-restore'))
    expect(await sql(alive)).toEqual([{ codes: 0, tokens: 0, sessions: 0 }])
  } finally {
    await drop()
  }
})
