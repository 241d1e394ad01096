import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { project } from '../bin/local'
import { exchange, expect, keepSecret, newPassword, reset, test } from './fixtures'
import { readmeBlocks as blocks } from './readme'

// The blocks of the README that have a name behind their language are compiled and run here as they stand, but for the address.
const address = 'https://login.example.com'
const folder = `${project}e2e/results/plugging-in/`

test.describe.configure({ mode: 'serial' })

const statement = (name: string) => blocks[name]!.text
const run = async (name: string) => import(`${folder}${name}.ts`)

test.beforeAll(async ({ url }) => {
  mkdirSync(folder, { recursive: true })
  for (const [name, { language, text }] of Object.entries(blocks)) {
    if (language === 'ts') writeFileSync(`${folder}${name}.ts`, text.replaceAll(address, url))
  }
})

test('the TypeScript of the README compiles', () => {
  const compiled = Object.keys(blocks).filter((name) => blocks[name]!.language === 'ts')
  expect(compiled).toEqual(['sso-callback', 'forgot-password', 'dashboard'])
  writeFileSync(
    `${folder}tsconfig.json`,
    JSON.stringify({ extends: `${project}tsconfig.json`, compilerOptions: { incremental: false }, include: ['*.ts'], exclude: [] }),
  )
  execFileSync(`${project}node_modules/.bin/tsc`, ['--noEmit', '-p', folder], { cwd: project, stdio: 'pipe' })
})

test('an SSO callback, and a dashboard that verifies the session', async ({ person, post, sql, url }) => {
  const { finishSignIn } = await run('sso-callback')
  const answer = (await finishSignIn(person.id)) as Response
  const to = new URL(answer.headers.get('location')!)
  expect([answer.status, to.origin, to.pathname]).toEqual([303, url, '/sso/callback'])
  const { status, body } = await post(exchange, { code: keepSecret(to.searchParams.get('code')!) })
  expect(status).toBe(200)

  const { verifySession } = await run('dashboard')
  const claims = await verifySession(body.token!)
  expect(claims.sub).toBe(person.id)
  const altered = body.token!.replace(/.(?=.{40}$)/, (letter) => (letter === 'A' ? 'B' : 'A'))
  await expect(verifySession(altered)).rejects.toThrow()
  expect(await sql(statement('session-alive'), [claims.sid])).toHaveLength(1)
  await sql('UPDATE sessions SET revoked_at = now() WHERE id = $1', [claims.sid])
  expect(await sql(statement('session-alive'), [claims.sid])).toHaveLength(0)
})

test('a forgot-password handler', async ({ person, post }) => {
  const { mailResetLink } = await run('forgot-password')
  const mails: [string, string][] = []
  const send = async (to: string, link: string) => void mails.push([to, link])
  await mailResetLink(person.email.toUpperCase(), send)
  await mailResetLink('nobody@example.com', send)
  expect(mails).toHaveLength(1)
  const token = keepSecret(new URL(mails[0]![1]).searchParams.get('token')!)
  expect((await post(reset, { token, password: newPassword() })).status).toBe(200)
})

test('the statements for another language', async ({ person, post, sql }) => {
  const newSecret = () => keepSecret(randomBytes(32).toString('base64url'))
  const hash = (secret: string) => createHash('sha256').update(secret).digest()
  const [code, older, token] = [newSecret(), newSecret(), newSecret()]
  await sql(statement('sso-code'), [hash(code), person.id])
  expect((await post(exchange, { code })).status).toBe(200)
  expect((await post(exchange, { code })).status).toBe(400)

  await sql(statement('reset-token'), [hash(older), person.id])
  await sql('UPDATE reset_tokens SET attempts = 30 WHERE user_id = $1', [person.id]) // a new token has its own
  await sql(statement('reset-token'), [hash(token), person.id])
  expect((await post(reset, { token: older, password: newPassword() })).status).toBe(400)
  expect((await post(reset, { token, password: newPassword() })).status).toBe(200)
})
