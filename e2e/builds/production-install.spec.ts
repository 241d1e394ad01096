import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { project } from '../../bin/local'
import { exchangePath, expect, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { openOwnDatabase } from '../support/own-database'
import { keepSecret } from '../support/secrets'
import { startServer } from '../support/server'

const deployed = [
  ...['.next', '.npmrc', 'bin', 'lib', 'next.config.mjs', 'package-lock.json', 'package.json'],
  ...['prisma', 'public', 'tsconfig.json'],
]

// The reviewed list of production dependencies. Every addition is installed in every deployment.
const dependencies = [
  '@next/env',
  '@node-saml/node-saml',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  '@prisma/adapter-pg',
  '@prisma/client',
  '@prisma/driver-adapter-utils',
  '@prisma/schema-engine-wasm',
  '@upstash/ratelimit',
  '@upstash/redis',
  '@vercel/functions',
  '@zxcvbn-ts/core',
  '@zxcvbn-ts/language-common',
  'bcrypt',
  'ipaddr.js',
  'jose',
  'next',
  'nodemailer',
  'openid-client',
  'p-queue',
  'pg',
  'pino',
  'rate-limiter-flexible',
  'react',
  'react-dom',
  'tsx',
  'xml-crypto',
  'zod',
]
// Development packages that a production dependency installs too.
const declaredByDependencies = ['@types/node', '@types/pg', 'esbuild']

test('migrates, issues links, exchanges and resets in an installation without development packages', async () => {
  test.setTimeout(600_000)
  const folder = `${mkdtempSync(join(realpathSync(tmpdir()), 'production-'))}/`
  const database = await openOwnDatabase({ migrated: false })
  const settings = { DATABASE_URL: database.url(), NODE_ENV: 'production' as const }
  const run = async (program: string, ...parameters: string[]) => {
    const env = { ...process.env, ...settings }
    const options = { cwd: folder, env, timeout: 180_000, killSignal: 'SIGKILL' } as const
    return (await promisify(execFile)(program, parameters, options)).stdout
  }
  try {
    for (const part of deployed) {
      const filter = (path: string) =>
        !path.startsWith(`${project}.next/cache`) && !path.startsWith(`${project}.next/dev`)
      cpSync(project + part, folder + part, { recursive: true, verbatimSymlinks: true, filter })
    }
    const later = new Date(Date.now() + 60_000) // copying may make the schema newer than the client
    utimesSync(`${folder}prisma/schema.prisma`, later, later)
    const install = () => run('npm', 'ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund')
    await install().catch(install) // npm was seen to wait forever while another npm used its cache

    const manifest = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'))
    expect(Object.keys(manifest.dependencies).sort()).toEqual(dependencies)
    const paths = (await run('npm', 'ls', '--all', '--parseable')).trim().split('\n').slice(1)
    const nameAt = (path: string) => JSON.parse(readFileSync(`${path}/package.json`, 'utf8')).name as string
    const installed = [...new Set(paths.map(nameAt))]
    const ofDevelopment = Object.keys(manifest.devDependencies).filter((name) => !declaredByDependencies.includes(name))
    expect(installed).toEqual(expect.arrayContaining(dependencies))
    const unwanted = [...ofDevelopment, 'prisma', 'mysql2', 'sharp']
    expect(installed.filter((name) => unwanted.includes(name) || name.startsWith('@img/'))).toEqual([])

    expect(await run('npm', 'run', '--silent', 'migrate')).toContain('Applied:\n  20261121000000_init\n')
    const server = await startServer(settings, { folder })
    Object.assign(settings, { PUBLIC_URL: server.url })
    const issue = async (...parameters: string[]) => {
      const { secret } = JSON.parse(await run('npm', 'run', '--silent', 'issue', '--', ...parameters, '--json'))
      return keepSecret(secret)
    }
    const code = await issue('sso-code', 'ada@example.com', '--create')
    expect((await postTo(server.url + exchangePath, { code })).status).toBe(200)
    const token = await issue('reset-token', 'ada@example.com')
    expect((await postTo(server.url + resetPath, { token, password: newPassword() })).status).toBe(200)
    expect((await fetch(`${server.url}/sso/callback`)).status).toBe(200)
    await server.stop()
    const [user] = await database.sql(`
      SELECT password_hash LIKE '$2b$%' AS changed, (SELECT count(*)::int FROM sessions WHERE revoked_at IS NOT NULL) AS ended
      FROM users WHERE email = 'ada@example.com'`)
    expect(user).toEqual({ changed: true, ended: 1 })
    expect(await run('npm', 'run', '--silent', 'clean-up')).toContain('sessions: 0 deleted')
  } finally {
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})
