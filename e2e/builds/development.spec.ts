import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createServer } from 'node:tls'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { requestTokens } from '../support/browsers/dashboard'
import { problemsOf } from '../support/browsers/page-checks'
import { documents, files } from '../support/documents/documents'
import {
  countPosts,
  exchangePath,
  expect,
  heading,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { runProgram } from '../support/servers/command'
import { temporaryFolder } from '../support/servers/program'
import { makeCertificate } from '../support/servers/proxies'
import { freePort } from '../support/servers/server'
import { open } from '../support/wire/raw-bytes'
import { send } from '../support/wire/raw-http'

// Inside the project, because Turbopack does not follow symbolic links out of its root.
// Without package-lock.json, because the build would warn about two lock files.
const checkout = `${project}.data/checkout/`
// The commands get no settings of this process.
const { PATH, HOME } = process.env
const environment = { PATH, HOME } as unknown as NodeJS.ProcessEnv
const npmRun = (...command: string[]) =>
  runProgram('npm', ['run', '--silent', ...command], { cwd: checkout, env: environment })

test.beforeEach(() => {
  rmSync(checkout, { recursive: true, force: true })
  const tracked = files.filter(
    (file) => file === '.env.example' || !/^(\.env|package-lock)/.test(file),
  )
  for (const file of tracked) cpSync(project + file, checkout + file)
  symlinkSync('../../node_modules', `${checkout}node_modules`)
})
test.afterEach(() => rmSync(checkout, { recursive: true, force: true }))

test('npm run dev and the commands in the README work without settings', async ({
  page,
  user,
  browserProcess,
}) => {
  // because every page is compiled, and each command takes seconds
  test.setTimeout(420_000)
  const port = String(await freePort())
  const env = { ...environment, PORT: port }
  const child = spawn('npm', ['run', '--silent', 'dev'], {
    cwd: checkout,
    detached: true,
    env,
  })
  let printed = ''
  child.stdout.on('data', (chunk) => (printed += chunk))
  child.stderr.on('data', (chunk) => (printed += chunk))
  const stop = async () => {
    if (child.exitCode !== null) return
    process.kill(-child.pid!, 'SIGINT') // Ctrl+C in a terminal signals the whole process group too
    await once(child, 'exit')
  }
  const app = `http://localhost:${port}`
  try {
    await expect.poll(() => printed, { timeout: 200_000 }).toContain('Ctrl-C')
    expect(printed).toMatch(new RegExp(`Start here: ${app}/preview\n$`))
    expect(printed.trim().split('\n').length).toBeLessThanOrEqual(10)
    // The pages that are opened first are compiled without a request of the user.
    for (const name of ['sign-in', 'sso/callback']) {
      const compiled = `${checkout}.next/dev/server/app/${name}/page.js`
      await expect.poll(() => existsSync(compiled), { timeout: 60_000 }).toBe(true)
    }
    const hub = await (await fetch(`${app}/preview`)).text()
    const linkTo = (name: string) =>
      hub.match(new RegExp(`<a href="([^"]+)">${name}</a>`))![1]!
    const [dashboard, provider, mailbox] = [
      linkTo('Dashboard'),
      linkTo('Example Corp'),
      linkTo('Mailbox'),
    ]
    const [widget, rejected] = [linkTo('Widget'), linkTo('Rejected widget')]
    expect(await (await fetch(app)).text()).toContain('href="/preview"')
    const [, password, recoveryCode] = hub.match(
      /otpauth:.* of joan@example\.net: password “(.+)”, secret \w+, recovery code ([\w-]{27})/,
    )!
    const joan = { email: 'joan@example.net', password: keepSecret(password!) }
    const { challenge } = (await postTo(app + routes.signIn.path, joan)).body
    const second = { challenge, recoveryCode: keepSecret(recoveryCode!) }
    const signedIn = await postTo(app + routes.signInSecondFactor.path, second)
    expect(signedIn.status).toBe(200)
    const [, issuer, slug, secret] = hub.match(
      /issuer (\S+), client ID (\w+), client secret (cs_[\w-]{43})\./,
    )!
    expect(issuer).toBe(app)
    const form = { grant_type: 'authorization_code', code: 'made-up' }
    const credentials = { client_id: slug!, client_secret: keepSecret(secret!) }
    const { body } = await requestTokens(app, null, { ...form, ...credentials })
    expect(body.error).toBe('invalid_grant') // so that the client has authenticated
    for (const path of ['/sign-in', '/reference', '/openapi.json'])
      expect(hub).toContain(`<a href="${path}">`)
    const issue = async (kind: string) => {
      const { stdout } = await npmRun('issue', '--', kind, 'ada@example.com', '--json')
      return keepSecret(JSON.parse(stdout).secret)
    }
    const complaints: string[] = []
    page.on(
      'console',
      (message) => message.type() === 'error' && complaints.push(message.text()),
    )
    const posts = countPosts(page)
    await page.goto(`${app}/sso/callback?code=${await issue('sso-code')}`) // React runs effects twice in development
    await page.waitForURL(`${dashboard}/`, { timeout: 60_000 })
    await expect(page.locator('#email')).toHaveText('ada@example.com')
    expect(posts.filter((address) => address.endsWith(exchangePath))).toHaveLength(1)
    expect(complaints).toEqual([])
    const token = await issue('reset-token')
    for (const status of [200, 400])
      expect(
        (await postTo(app + resetPath, { token, password: newPassword() })).status,
      ).toBe(status)

    await postTo(app + routes.forgotPassword.path, { email: 'ada@example.com' })
    const mails = async () => (await fetch(mailbox)).text()
    await expect
      .poll(mails, { timeout: 30_000 })
      .toContain(`<a href="${app}/reset-password?token=`)

    // A page without the tests' header, because that header would need a preflight
    // request.
    const customer = await (await browserProcess.newContext()).newPage()
    await customer.goto(widget)
    await expect(customer.locator('p').last()).toContainText(`Hello, page of ${widget}.`)
    await customer.goto(rejected)
    await expect(customer.locator('p')).toHaveCount(1) // the widget is no longer shown

    await page.setViewportSize({ width: 320, height: 640 })
    for (const url of [mailbox, provider]) {
      await page.goto(url)
      expect(await problemsOf(page), url).toEqual([])
    }
    for (const [choice, title] of [
      ['Cancel', 'You weren’t signed in'],
      ['Error', 'Sign-in at your organization had a problem'],
      ['Slow', 'Sign-in at your organization isn’t available'],
      ['Expired Expired', 'This sign-in can’t be continued'],
      ['Eve', 'You don’t have access to Dashboard'],
      ['Grace', 'Dashboard'],
    ] as const) {
      await page.goto(provider)
      await page.getByRole('link', { name: 'Dashboard' }).click() // the tile in the portal of the provider
      for (const name of choice.split(' ')) {
        await expect(heading(page)).toHaveText('Choose an account')
        const shown = page.url()
        await page.getByRole('link', { name: new RegExp(`^${name}\\b`) }).click()
        await expect(page).not.toHaveURL(shown)
      }
      await expect(heading(page), choice).toHaveText(title, { timeout: 30_000 })
    }
    await expect(page.locator('#email')).toHaveText('grace@example.com')

    await page.goto(linkTo('Test sign-in'))
    await page.getByRole('link', { name: /^Grace\b/ }).click()
    await expect(heading(page)).toHaveText('The sign-in would work', { timeout: 30_000 })
    await expect(
      page.getByText('Would sign in grace@example.com (linked).'),
    ).toBeVisible()
    await page.goto(linkTo('Rejected sign-ins'))
    await expect(page.getByRole('listitem')).toContainText('eve@example.org')
    expect(await problemsOf(page)).toEqual([])

    await page.goto(linkTo('Setup link'))
    expect(await problemsOf(page)).toEqual([])
    const values = await page.locator('li code').allInnerTexts()
    await page.getByRole('link', { name: 'Open the setup link' }).click()
    await page.getByRole('link', { name: 'Another product, with OpenID Connect' }).click()
    for (const [index, label] of ['Issuer', 'Client ID', 'Client secret'].entries())
      await page.getByLabel(label).fill(values[index]!)
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('No test has succeeded yet.')).toBeVisible({
      timeout: 30_000,
    })
    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Test a sign-in' }).click()
    const tab = await opened
    await tab.getByRole('link', { name: /^Mary\b/ }).click()
    await expect(heading(tab)).toHaveText('The sign-in would work', { timeout: 30_000 })
    await tab.getByRole('link', { name: 'the setup page' }).click()
    await tab.getByRole('button', { name: 'Use it for everybody' }).click()
    await expect(heading(tab)).toHaveText('Single sign-on is set up', { timeout: 30_000 })
    await tab.close()

    for (const url of [app, dashboard, provider, mailbox, widget])
      await expect
        .soft(fetch(`http://${otherAddress()}:${new URL(url).port}/`), url)
        .rejects.toThrow()

    for (const url of [`${app}/preview`, provider, mailbox])
      for (const [Host, expected] of [
        ['evil.example', 403],
        ['app.localhost', 200],
      ] as const)
        expect.soft((await send(url, { headers: { Host } })).status, url).toBe(expected)
    expect.soft(await upgrade(app, 'evil.example')).toBe('')
    expect.soft(await upgrade(app, 'localhost')).toMatch(/^HTTP\/1\.1 101 /)

    // the keys in .data/
    for (const path of ['jwks.json', 'widget-jwks.json', 'openid-jwks.json'])
      expect.soft((await fetch(`${app}/.well-known/${path}`)).status, path).toBe(200)

    const commands = commandsOfReadme()
    expect(commands.map(([script]) => script)).toEqual(
      expect.arrayContaining([
        'issue',
        'users',
        'connections',
        'clients',
        'keys',
        'clean-up',
        'mail',
      ]),
    )
    const toMailbox = [
      'mail -- test ada@example.com',
      'users -- invite grace@example.com',
    ]
    for (const command of [...commands, ...toMailbox.map((each) => each.split(' '))]) {
      const { code, stderr } = await npmRun(...command)
      expect.soft([code, code === 0 ? '' : stderr], command.join(' ')).toEqual([0, ''])
    }
    expect(await mails()).toMatch(/Test of Dashboard <small>ada@example\.com, (?!\d{4}-)/)

    // In development, Next.js logs the URLs of requests.
    const secrets = [await newCode(user), await newToken(user)]
    for (const secret of secrets) {
      const addresses =
        '/sso/callback?code= /reset-password?token= /nothing?token= /api/nothing?code= /%ff?code='
      for (const path of addresses.split(' ')) await fetch(app + path + secret)
    }
    await stop()
    for (const url of [app, dashboard]) await expect(fetch(url)).rejects.toThrow()
    for (const secret of secrets) expect(printed).not.toContain(secret)
    expect(printed).toMatch(
      /^[\d:]+( [AP]M)? info method=POST route=sso-exchange status=200/m,
    ) // the log is not JSON
    expect(printed).not.toMatch(/^\{/m)
    expect(printed).toMatch(/Stopped\.\n$/)
    const { code: exitCode, stderr } = await npmRun('connections', '--', 'list')
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('Run `npm run dev` in another terminal'),
    ])
  } finally {
    await stop()
  }
})

test('npm run dev behind TLS on this machine signs in at Example Corp, and opens the dashboard', async ({
  browserProcess,
}) => {
  test.setTimeout(300_000)
  const { path: folder, remove } = temporaryFolder('tls')
  const { key, certificate } = makeCertificate(folder)
  const port = await freePort()
  const front = await startTls({ key, certificate }, port)
  const app = `https://localhost:${front.port}`
  let printed = ''
  const start = (more: Record<string, string>) => {
    printed = ''
    const env = { ...environment, PORT: String(port), PUBLIC_URL: app, ...more }
    const child = spawn('npm', ['run', '--silent', 'dev'], {
      ...{ cwd: checkout, detached: true, env },
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (printed += chunk))
    return async () => {
      if (child.exitCode !== null) return
      process.kill(-child.pid!, 'SIGINT')
      await once(child, 'exit')
    }
  }
  const waitUntil = (text: string) =>
    expect.poll(() => printed, { timeout: 120_000 }).toContain(text)

  let stop = start({})
  try {
    await waitUntil('set NODE_EXTRA_CA_CERTS in the environment to the file')
    await stop()
    stop = start({ NODE_EXTRA_CA_CERTS: certificate })
    await waitUntil('Ctrl-C')

    const context = await browserProcess.newContext({ ignoreHTTPSErrors: true })
    const page = await context.newPage()
    await page.goto(`${app}/sign-in`)
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click()
    await page.getByRole('link', { name: /^Grace\b/ }).click()
    await expect(page.locator('#email')).toHaveText('grace@example.com', {
      timeout: 60_000,
    })
    expect(printed).not.toMatch(/Nothing responds|is not trusted/)
    await context.close()
  } finally {
    await stop()
    front.stop()
    remove()
  }
})

for (const [what, settings, expected] of [
  [
    'says that nothing responds with TLS at PUBLIC_URL',
    { PUBLIC_URL: 'https://localhost:3443' },
    /Ctrl-C[\s\S]*Nothing responds at https:\/\/localhost:3443 \(\w+\): start a proxy with TLS .* http:\/\/127\.0\.0\.1:\d+\.\n/,
  ],
  [
    'says what is not started at a name that others may reach',
    { PUBLIC_URL: 'https://login.example.com' },
    /example users, which sign anybody in, are not started: add a user with `npm run users -- invite EMAIL`\.\n[\s\S]*Ctrl-C/,
  ],
  [
    'says what is wrong with settings before the build',
    { PUBLIC_URL: 'login.example.com', TRUSTED_PROXIES: '"1"' },
    /invalid \(see \.env\.example\):\n {2}PUBLIC_URL must be a URL .*\n {2}TRUSTED_PROXIES must be a whole number.*: remove them\n/,
  ],
  [
    'says that a demo behind a proxy must know the proxy',
    { PUBLIC_URL: 'https://demo.example.com', DEMO: 'demo' },
    /TRUSTED_PROXIES must be at least 1 in production/,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`npm run dev ${what}`, async () => {
    test.setTimeout(240_000)
    const { DEMO = 'dev', ...given } = settings
    const child = spawn('npm', ['run', '--silent', DEMO], {
      cwd: checkout,
      detached: true,
      env: { ...environment, PORT: String(await freePort()), ...given },
    })
    let printed = ''
    child.stdout.on('data', (chunk) => (printed += chunk))
    child.stderr.on('data', (chunk) => (printed += chunk))
    const exited = once(child, 'exit')
    try {
      await expect.poll(() => printed, { timeout: 200_000 }).toMatch(expected)
      expect(printed).not.toMatch(/^\s*[[{]|Building/m) // no JSON
    } finally {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGINT')
      await exited
    }
  })

/** Starts a proxy with TLS that forwards everything to a port, with WebSockets. */
async function startTls(files: { key: string; certificate: string }, to: number) {
  const sockets = new Set<Socket>()
  const options = { key: readFileSync(files.key), cert: readFileSync(files.certificate) }
  const server = createServer(options, (outer) => {
    const inner = connect(to, '127.0.0.1')
    for (const socket of [outer, inner]) {
      sockets.add(socket)
      socket.on('error', () => {
        outer.destroy()
        inner.destroy()
      })
    }
    outer.pipe(inner).pipe(outer)
  })
  server.on('tlsClientError', () => {}) // a client that does not trust the certificate
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo

  function stop(): void {
    server.close()
    for (const socket of sockets) socket.destroy()
  }

  return { port, stop }
}

/** Requests the WebSocket of hot reload. Returns what was received. */
async function upgrade(app: string, host: string): Promise<string> {
  const { socket, received } = open(
    app,
    `GET /_next/hmr HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  await Promise.race([once(socket, 'data'), once(socket, 'close')])
  socket.destroy()
  return received()
}

/**
 * Returns the commands in the README's table that need no settings and exit, as arguments
 * of `npm run`.
 */
function commandsOfReadme(): string[][] {
  const { scripts } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))
  const [, table] = documents['README.md']!.match(/^## Commands\n(.*?)^## /ms)!
  const cells = table!.split('\n').flatMap((row) => row.split('|')[1] ?? [])
  return cells.flatMap((cell) => {
    let script = ''
    return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text]) => {
      const [, named, own = text!] =
        text!.match(/^npm (?:run )?(\S+)(?: -- )?(.*)$/) ?? []
      script = named ?? script
      if (script === 'migrate' || !scripts[script].startsWith('tsx bin/')) return []
      const email = own.startsWith('add') ? 'new@example.com' : 'ada@example.com'
      return [[script, '--', ...own.replace('EMAIL', email).split(' ').filter(Boolean)]]
    })
  })
}

/** Returns an IP address of this machine that is not loopback. */
function otherAddress(): string {
  const external = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal)
  return external?.address ?? '127.0.0.2'
}
