import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import bcrypt from 'bcrypt'
import { expect, newPassword, newToken, postTo, resetPath, test } from '../support/fixtures'
import { preload } from '../support/preload'
import { newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/server'

test.describe.configure({ mode: 'serial' }) // one server, which remembers that the API failed

const breached = newPassword()
const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
const skipped = 'the breached-password check is slow or fails'
const known = `0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42\r\n011053FD0102E94D6AE2F8B83D76FAF94F6:1`

const responds = (response: ServerResponse) => void response.end(known)
const hangs = () => {}

let respond: (response: ServerResponse) => void
let requests: { path: string; padding: unknown }[] = []
const api = createServer((request, response) => {
  requests.push({ path: request.url!, padding: request.headers['add-padding'] })
  respond(response)
})
let server: Server
test.beforeAll(async () => {
  await once(api.listen(0, 'localhost'), 'listening')
  server = await startServer({
    ...preload('cheap-hash.mjs', 'later-clock.mjs'),
    PASSWORD_BREACH_CHECK: 'true',
    PASSWORD_BREACH_URL: `http://localhost:${(api.address() as AddressInfo).port}`,
  })
})
test.beforeEach(() => {
  respond = responds
  requests = []
})
test.afterAll(async () => {
  await server?.stop()
  api.closeAllConnections()
  api.close()
})

async function attempt(token: string, password: string): Promise<string | number> {
  const headers = { 'X-Forwarded-For': newAddress() }
  const { status, body } = await postTo(server.url + resetPath, { token, password }, headers)
  return body.issues?.[0]?.code ?? status
}

test('sends five digits of the hash of a password that is not guessable, and rejects a breached one', async ({
  user,
}) => {
  const token = await newToken(user)
  expect(await attempt(token, breached)).toBe('breached')
  expect(await attempt(token, 'password1')).toBe('too_guessable')
  expect(requests).toEqual([{ path: `/range/${digest.slice(0, 5)}`, padding: 'true' }])
  expect(await attempt(token, newPassword())).toBe(200)
})

test('accepts a password that only a line of padding contains', async ({ user }) => {
  respond = (response) => void response.end(`${digest.slice(5)}:0\r\n${known.split('\r\n')[0]}`)
  expect(await attempt(await newToken(user), breached)).toBe(200)
})

// Unit tests cover the other ways in which the API can fail.
for (const [how, fail] of Object.entries<(response: ServerResponse) => void>({
  fails: (response) => response.writeHead(503).end(),
  hangs,
})) {
  test(`skips an API that ${how} for a while, and logs it once`, async ({ user, sql }) => {
    respond = fail
    const before = server.output().length
    const warnings = () => server.output().slice(before).split(skipped).length - 1
    const attempting = attempt(await newToken(user), breached)
    await expect.poll(() => requests.length, { intervals: [20] }).toBe(1)
    if (fail === hangs)
      // the password is not hashed yet
      expect(await sql('SELECT attempts, used_at FROM reset_tokens WHERE user_id = $1', [user.id])).toEqual([
        { attempts: 1, used_at: null },
      ])
    expect(await attempting).toBe(200)
    expect(await attempt(await newToken(user), breached)).toBe(200)
    expect([requests.length, warnings()]).toEqual([1, 1])
    const [stored] = await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])
    expect(await bcrypt.compare(breached, stored!.password_hash)).toBe(true)

    respond = responds
    server.process.send({ laterMs: 30_000 })
    expect(await attempt(await newToken(user), breached)).toBe('breached')
    expect(warnings()).toBe(1)
  })
}
