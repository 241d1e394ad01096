import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { project } from '../../bin/local'
import { files } from '../support/documents'
import { exchangePath, expect, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { openOwnDatabase } from '../support/own-database'
import { keepSecret } from '../support/secrets'
import { startServer } from '../support/server'

// The reviewed list of production dependencies. Every addition is a part of every deployment.
const dependencies = `
  @next/env @node-saml/node-saml @opentelemetry/api @opentelemetry/exporter-trace-otlp-http
  @opentelemetry/resources @opentelemetry/sdk-trace-node @prisma/adapter-pg @prisma/client
  @prisma/driver-adapter-utils @prisma/schema-engine-wasm @upstash/ratelimit @upstash/redis @vercel/functions
  @zxcvbn-ts/core @zxcvbn-ts/language-common bcrypt ioredis ipaddr.js jose next node-forge nodemailer
  openid-client otpauth p-queue pg pino rate-limiter-flexible react react-dom undici uqr
  xml-crypto xml-encryption zod
`

test('deploy/build.sh makes a folder of 150 MB that runs on Node.js alone', async () => {
  test.setTimeout(600_000)
  const temporary = `${mkdtempSync(join(realpathSync(tmpdir()), 'production-'))}/`
  const [checkout, folder] = [`${temporary}checkout/`, `${temporary}folder/`]
  const database = await openOwnDatabase({ migrated: false })
  const settings: Record<string, string> = { DATABASE_URL: database.url() }
  const run = async (cwd: string, program: string, ...parameters: string[]) => {
    const options = { cwd, env: { ...process.env, ...settings }, timeout: 400_000 }
    return (await promisify(execFile)(program, parameters, options)).stdout
  }
  try {
    const ignored = readFileSync(`${project}deploy/Dockerfile.dockerignore`, 'utf8').trim().split('\n') // by the image
    const isIgnored = (file: string) => ignored.some((path) => file === path || file.startsWith(`${path}/`))
    for (const file of files) if (!isIgnored(file)) cpSync(project + file, checkout + file)
    await run(temporary, 'sh', `${checkout}deploy/build.sh`, folder)
    rmSync(checkout, { recursive: true })
    expect(Object.keys(JSON.parse(readFileSync(`${project}package.json`, 'utf8')).dependencies).sort()).toEqual(
      dependencies.trim().split(/\s+/),
    )
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const bytes = entries
      .map((entry) => statSync(folder + entry))
      .reduce((sum, { size, blocks }) => sum + Math.max(size, blocks * 512), 0)
    expect(bytes).toBeLessThan(150 * 1024 * 1024)
    expect(
      entries.filter((entry) => /^(\.env|\.git|node_modules\/(tsx|esbuild|prisma-cli|typescript))(\/|$)/.test(entry)),
    ).toEqual([])

    expect(await run(folder, 'npm', 'run', '--silent', 'migrate')).toContain('Applied:\n  20261121000000_init\n')
    const server = await startServer(settings, { folder })
    settings.PUBLIC_URL = server.url
    const issue = async (...parameters: string[]) => {
      const { secret } = JSON.parse(await run(folder, 'npm', 'run', '--silent', 'issue', '--', ...parameters, '--json'))
      return keepSecret(secret)
    }
    const code = await issue('sso-code', 'ada@example.com', '--create')
    expect((await postTo(server.url + exchangePath, { code })).status).toBe(200)
    const token = await issue('reset-token', 'ada@example.com')
    expect((await postTo(server.url + resetPath, { token, password: newPassword() })).status).toBe(200)
    expect((await fetch(`${server.url}/sso/callback`)).status).toBe(200)
    expect((await fetch(`${server.url}/preview`)).status, 'only development and tests have it').toBe(404)
    await server.stop()
    const [user] = await database.sql(`
      SELECT password_hash LIKE '$2b$%' AS changed, (SELECT count(*)::int FROM sessions WHERE revoked_at IS NOT NULL) AS ended
      FROM users WHERE email = 'ada@example.com'`)
    expect(user).toEqual({ changed: true, ended: 1 })
    expect(await run(folder, 'npm', 'run', '--silent', 'clean-up')).toContain('sessions: 0 deleted')
    expect(readdirSync(folder)).not.toContain('.data')
  } finally {
    await database.drop()
    rmSync(temporary, { recursive: true, force: true })
  }
})
