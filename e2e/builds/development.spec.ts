import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { project } from '../../bin/local'
import * as paths from '../../lib/contract/paths'
import type { Ended } from '../support/command'
import { documents, files } from '../support/documents'
import { countPosts, exchangePath, expect, newCode, newPassword, newToken, resetPath, test } from '../support/fixtures'
import { freePort } from '../support/server'

// Inside the project, because Turbopack follows no symbolic link that leaves its root.
const checkout = `${project}.data/checkout/`
// none of our settings
const { PATH, HOME } = process.env
const environment = { PATH, HOME } as unknown as NodeJS.ProcessEnv

test.beforeEach(() => {
  rmSync(checkout, { recursive: true, force: true })
  const tracked = files.filter((file) => file === '.env.example' || !file.startsWith('.env'))
  for (const file of tracked) cpSync(project + file, checkout + file)
  symlinkSync('../../node_modules', `${checkout}node_modules`)
})
test.afterEach(() => rmSync(checkout, { recursive: true, force: true }))

test('npm run dev runs without settings, with the commands of the README', async ({ page, user, browserProcess }) => {
  test.setTimeout(420_000) // it compiles every page, and commands take seconds each
  const port = String(await freePort())
  const env = { ...environment, PORT: port }
  const child = spawn('npm', ['run', '--silent', 'dev'], { cwd: checkout, detached: true, env })
  let printed = ''
  child.stdout.on('data', (chunk) => (printed += chunk))
  child.stderr.on('data', (chunk) => (printed += chunk))
  const stop = async () => {
    if (child.exitCode !== null) return
    process.kill(-child.pid!, 'SIGINT') // to the whole process group, as a terminal does
    await once(child, 'exit')
  }
  try {
    await expect.poll(() => printed, { timeout: 200_000 }).toContain('Ctrl-C')
    const code = printed.match(new RegExp(`http://localhost:${port}/sso/callback\\?code=([\\w-]{43})`))![1]!
    const token = printed.match(new RegExp(`http://localhost:${port}/reset-password\\?token=([\\w-]{43})`))![1]!
    expect(printed).toContain(`http://localhost:${port}/sign-in`)
    expect(printed).toMatch(/joan@example\.net, with the password “.+” and an authenticator app:\n +otpauth:/)
    const dashboard = printed.match(/dashboard on another site: (http:\/\/127\.0\.0\.1:\d+)/)![1]!
    const started = await fetch(`http://localhost:${port}/api/auth/sso/local/start`, { redirect: 'manual' })
    const provider = started.headers.get('location')!
    expect(provider).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth\?/)
    const send = (path: string, body: unknown) =>
      fetch(`http://localhost:${port}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    const posts = countPosts(page)
    await page.goto(`http://localhost:${port}/sso/callback?code=${code}`) // React runs effects twice here
    await page.waitForURL(`${dashboard}/`, { timeout: 60_000 })
    await expect(page.locator('#email')).toHaveText('ada@example.com')
    expect(posts.filter((address) => address.endsWith(exchangePath))).toHaveLength(1)
    expect(complaints).toEqual([])
    expect((await send(resetPath, { token, password: newPassword() })).status).toBe(200)
    expect((await send(resetPath, { token, password: newPassword() })).status).toBe(400)

    const mailbox = printed.match(/The mails arrive at (http:\/\/localhost:\d+)/)![1]!
    await send(paths.forgotPassword, { email: 'ada@example.com' })
    const link = `http://localhost:${port}/reset-password?token=`
    await expect.poll(async () => (await fetch(mailbox)).text(), { timeout: 30_000 }).toContain(link)

    const [, widget, rejected] = printed.match(/customer: (http:\S+)\n.* rejected: (http:\S+)/)!
    const customer = await (await browserProcess.newContext()).newPage() // without a header that needs a preflight
    await customer.goto(widget!)
    await expect(customer.locator('p').last()).toContainText(`Hello, page of ${widget}.`)
    await customer.goto(rejected!)
    await expect(customer.locator('p')).toHaveCount(1) // the widget is gone

    expect((await fetch(`http://localhost:${port}/preview`)).status).toBe(200)
    for (const url of [`http://localhost:${port}`, dashboard, provider, mailbox, widget!])
      await expect.soft(fetch(`http://${otherAddress()}:${new URL(url).port}/`), url).rejects.toThrow()

    const commands = commandsOfReadme()
    expect(commands.map(([script]) => script)).toEqual(
      expect.arrayContaining(['issue', 'users', 'connections', 'keys', 'clean-up', 'mail']),
    )
    for (const command of commands) {
      const { code, stderr } = await runIn(checkout, command, environment)
      expect.soft([code, code === 0 ? '' : stderr], command.join(' ')).toEqual([0, ''])
    }

    // Next.js logs the URLs of requests in development.
    const secrets = [await newCode(user), await newToken(user)]
    for (const secret of secrets) {
      const addresses = '/sso/callback?code= /reset-password?token= /nothing?token= /api/nothing?code= /%ff?code='
      for (const path of addresses.split(' ')) await fetch(`http://localhost:${port}${path}${secret}`)
    }
    await stop()
    for (const url of [`http://localhost:${port}/`, dashboard]) await expect(fetch(url)).rejects.toThrow()
    for (const secret of secrets) expect(printed).not.toContain(secret)
    const { code: exitCode, stderr } = await runIn(checkout, ['connections', '--', 'list'], environment)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Run `npm run dev` in another terminal')])
  } finally {
    await stop()
  }
})

/** Runs a script of another checkout with npm. */
function runIn(cwd: string, command: string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', ...command], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

/** The arguments of `npm run` for the commands in the table of the README that need no settings and end. */
function commandsOfReadme(): string[][] {
  const { scripts } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))
  const [, table] = documents['README.md']!.match(/^## Commands\n(.*?)^## /ms)!
  const cells = table!.split('\n').flatMap((row) => row.split('|')[1] ?? [])
  return cells.flatMap((cell) => {
    let script = ''
    return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text]) => {
      const [, named, own = text!] = text!.match(/^npm (?:run )?(\S+)(?: -- )?(.*)$/) ?? []
      script = named ?? script
      if (script === 'migrate' || !scripts[script].startsWith('tsx bin/')) return []
      const email = own.startsWith('add') ? 'new@example.com' : 'ada@example.com'
      return [[script, '--', ...own.replace('EMAIL', email).split(' ').filter(Boolean)]]
    })
  })
}

/** An address of this machine at which a server on loopback does not listen. */
function otherAddress(): string {
  const external = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal)
  return external?.address ?? '127.0.0.2'
}
