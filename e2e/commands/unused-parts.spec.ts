import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as routes from '../../lib/contract/routes'
import { createScimToken } from '../../lib/scim/manage'
import { assert, newPasskey } from '../support/authenticator'
import { openDirectory } from '../support/clients/directory'
import { storePasskey } from '../support/databases/passkey'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { freePort } from '../support/servers/server'
import { unreachableDatabase } from '../support/servers/settings'

const probe = preload('loaded-files.mjs')
// For each library, words that occur only in the code of that library.
const libraries = {
  'openid-client': /enableNonRepudiationChecks/,
  'node-saml': /getAuthorizeUrlAsync/,
  nodemailer: /class SMTPConnection/,
  undici: /Proxy uri is mandatory/,
  ioredis: /MaxRetriesPerRequestError/,
  SCIM: /scim_tokens WHERE token_hash/,
  'setup links': /setup_links WHERE secret_hash/,
  otpauth: /ABCDEFGHIJKLMNOPQRSTUVWXYZ234567/,
  '@simplewebauthn/server': /Leftover bytes detected/,
  'opentelemetry sdk-trace': /OTEL_BSP_SCHEDULE_DELAY/,
  'opentelemetry sdk-metrics': /otel\.metric\.overflow/,
  'opentelemetry exporter-prometheus': /# no registered metrics/,
}

async function loadedFiles({ process }: TestServer): Promise<string[]> {
  return new Promise((resolve) => {
    process.on('message', (message) => {
      const { files } = message as { files?: string[] }
      if (files) resolve(files)
    })
    process.send('list-files')
  })
}

/** What only pages need. */
const ofPages = {
  React: /Minified React error/,
  texts: /We lost the connection/,
}

async function loadedLibraries(
  server: TestServer,
  searched: Record<string, RegExp> = libraries,
): Promise<string[]> {
  const files = await loadedFiles(server)
  expect(files.length).toBeGreaterThan(50)
  const texts = files
    .map((file) => (file.startsWith('file:') ? fileURLToPath(file) : file))
    .filter((file) => file.startsWith('/') && existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
  return Object.entries(searched).flatMap(([name, words]) =>
    texts.some((text) => words.test(text)) ? name : [],
  )
}

test('loads no SSO, email, HTTP, Redis, TOTP, WebAuthn or OpenTelemetry library for an exchange, a reset and a sign-in', async ({
  serverWith,
  sql,
  user,
}) => {
  const server = await serverWith({
    ...probe,
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
    PASSKEYS: 'true',
  })
  expect(
    (await postTo(server.url + exchangePath, { code: await newCode(user) })).status,
  ).toBe(200)
  const reset = { token: await newToken(user), password: newPassword() }
  expect((await postTo(server.url + resetPath, reset)).status).toBe(200)
  const { email } = user
  const { status, body } = await postTo(server.url + routes.signIn.path, {
    email,
    password: reset.password,
  })
  expect(status).toBe(200)
  expect(await loadedLibraries(server)).toEqual([])
  // not even in a request of a page or of the part that would have metrics
  for (const path of ['/sign-in', routes.getReadiness.path])
    expect((await fetch(server.url + path)).status).toBe(200)
  expect(await loadedLibraries(server)).toEqual([])
  const own = { Authorization: `Bearer ${body.token}` }
  expect(
    (await postTo(server.url + routes.startSecondFactor.path, reset, own)).status,
  ).toBe(200)
  expect(await loadedLibraries(server)).toEqual(['otpauth'])

  const cookie = { Cookie: `refresh=${body.refreshToken}` }
  expect((await postTo(server.url + routes.startPasskey.path, {}, cookie)).status).toBe(
    200,
  )
  await fetch(`${server.url}/sign-in`)
  expect(await loadedLibraries(server)).toEqual(['otpauth'])
  const { options } = await (
    await fetch(server.url + routes.getPasskeySignInOptions.path)
  ).json()
  const passkey = newPasskey(user.id)
  await storePasskey(sql, user, passkey)
  const credential = assert(passkey, keepSecret(options.challenge), server.url)
  const entered = await postTo(server.url + routes.signInWithPasskey.path, { credential })
  expect(entered.status).toBe(200)
  expect(await loadedLibraries(server)).toEqual(['otpauth', '@simplewebauthn/server'])
})

test('loads texts only for pages, and React only for those that the proxy does not send', async ({
  serverWith,
  user,
}) => {
  const server = await serverWith({ ...probe, PASSWORD_SIGN_IN: 'true' })
  const exchanged = await postTo(server.url + exchangePath, { code: await newCode(user) })
  const { refreshToken } = exchanged.body
  const reset = { token: await newToken(user), password: newPassword() }
  const { email } = user
  const requests = {
    [routes.refreshSession.path]: { refreshToken },
    [resetPath]: reset,
    [routes.signIn.path]: { email, password: reset.password },
  }
  for (const [path, body] of Object.entries(requests))
    expect((await postTo(server.url + path, body)).status, path).toBe(200)
  expect(await loadedLibraries(server, ofPages)).toEqual([])

  // a page that the proxy sends
  expect((await server.fetch('/long-url')).status).toBe(414)
  expect(await loadedLibraries(server, ofPages)).toEqual(['texts'])

  expect((await server.fetch('/sign-in')).status).toBe(200)
  expect(await loadedLibraries(server, ofPages)).toEqual(['React', 'texts'])
})

test('loads the server of Next.js from bin/server.js, which has no schemas', async ({
  serverWith,
}) => {
  const server = await serverWith(probe)
  expect((await server.fetch('/sign-in')).status).toBe(200)
  const files = await loadedFiles(server)
  const own = files.find((file) => file.endsWith('/bin/server.js'))
  const bundled = readFileSync(new URL(own!), 'utf8')
  const contains = (file: string) => bundled.includes(`// node_modules/${file}`)
  expect(contains('next/dist/server/next-server.js')).toBe(true)
  expect(contains('zod/')).toBe(false)

  // what it contains is not loaded a second time
  const ofNext = files.flatMap((file) => /\/(next\/dist\/.*)/.exec(file)?.[1] ?? [])
  expect(ofNext.length).toBeGreaterThan(20)
  expect(ofNext.filter(contains)).toEqual([])
})

test('loads nothing of SCIM, and reads no table for it, without the setting', async ({
  serverWith,
}) => {
  const request = (server: TestServer) =>
    server.fetch(`${routes.scim.path}/ServiceProviderConfig`, {
      headers: { Authorization: 'Bearer any-token' },
    })
  const off = await serverWith({ ...probe, ...unreachableDatabase })
  expect((await request(off)).status).toBe(404)
  expect(await loadedLibraries(off)).toEqual([])

  const { connection } = await openDirectory(() => off.url)
  const token = keepSecret(await createScimToken(connection, 0))
  const on = await serverWith({ ...probe, SCIM: 'true' })
  const { status } = await on.fetch(`${routes.scim.path}/ServiceProviderConfig`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  expect([status, await loadedLibraries(on)]).toEqual([200, ['SCIM']])
})

test('loads nothing of setup links, and reads no table for them, without the setting', async ({
  serverWith,
}) => {
  const request = (server: TestServer) =>
    server.fetch(routes.openSetup.path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ secret: 'x'.repeat(43) }),
    })
  const off = await serverWith({ ...probe, ...unreachableDatabase })
  expect((await request(off)).status).toBe(404)
  expect((await off.fetch(routes.testSetup.path)).status).toBe(404)
  expect((await off.fetch('/setup')).status).toBe(404)
  expect(await loadedLibraries(off)).toEqual([])

  const on = await serverWith({ ...probe, SETUP_LINKS: 'true' })
  expect([(await request(on)).status, await loadedLibraries(on)]).toEqual([
    400,
    ['setup links'],
  ])
})

const atStart: Record<string, Record<string, string>> = {
  nodemailer: { SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'login@example.com' },
  undici: { HTTPS_PROXY: 'http://localhost:1' },
  ioredis: { REDIS_URL: 'redis://localhost:1', RATE_LIMIT: '' },
}
for (const [library, settings] of Object.entries(atStart))
  test(`loads ${library} at start with ${Object.keys(settings)[0]}`, async ({
    serverWith,
  }) => {
    const server = await serverWith({ ...probe, ...settings })
    await fetch(server.url) // the first request waits until everything is loaded
    expect(await loadedLibraries(server)).toEqual([library])
  })

const ofOpenTelemetry = async (server: TestServer) =>
  (await loadedLibraries(server)).filter((name) => name.startsWith('opentelemetry'))

test('loads only what serves metrics with METRICS_PORT, and what exports with OTEL_EXPORTER_OTLP_ENDPOINT', async ({
  serverWith,
}) => {
  const served = await serverWith({ ...probe, METRICS_PORT: String(await freePort()) })
  await fetch(served.url)
  expect(await ofOpenTelemetry(served)).toEqual([
    'opentelemetry sdk-metrics',
    'opentelemetry exporter-prometheus',
  ])

  const exporting = await serverWith({
    ...probe,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  })
  await fetch(exporting.url)
  expect(await ofOpenTelemetry(exporting)).toEqual([
    'opentelemetry sdk-trace',
    'opentelemetry sdk-metrics',
  ])
})
