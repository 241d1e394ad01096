import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { newKeyPair } from '../../lib/sso/saml/key-pair'
import { openOwnDatabase } from '../support/databases/own-database'
import { newPasswordUser } from '../support/databases/password-user'
import { readRows, rules, rulesFile, sampleLines } from '../support/documents/alerts'
import {
  exchangePath,
  expect,
  newPassword,
  postTo,
  type Sql,
  test,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { responds, startProgram, temporaryFolder } from '../support/servers/program'
import { startRedis } from '../support/servers/redis'
import { freePort, startServer } from '../support/servers/server'

// Debian's Prometheus reads the metrics, and the alert rules fire. jq filters the log.

const folder = temporaryFolder('prometheus')
test.afterAll(() => folder.remove())

const promtool = (...parameters: string[]) =>
  execFileSync('promtool', parameters, { encoding: 'utf8', stdio: 'pipe' })

test('promtool accepts the rules, their tests, and the metrics of a server', async ({
  serverWith,
}) => {
  const METRICS_PORT = String(await freePort())
  const server = await serverWith({ METRICS_PORT })
  await fetch(`${server.url}/api/health`)

  expect(promtool('check', 'rules', rulesFile)).toContain(`${rules.length} rules found`)
  const tests = `${project}e2e/providers/alerts.test.yaml`
  expect(promtool('test', 'rules', tests)).toContain('SUCCESS')

  const served = await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)
  const checked = spawnSync('promtool', ['check', 'metrics'], {
    input: await served.text(),
    encoding: 'utf8',
  })
  const complaints = (checked.stdout + checked.stderr).split('\n').filter(Boolean)
  // a certificate is renewed days before its end
  const days = 'auth_certificate_days use base unit "seconds" instead of "days"'
  expect(complaints.filter((complaint) => complaint !== days)).toEqual([])
})

/**
 * Starts Prometheus with the alert rules, for metrics on a port. A rule fires as soon as
 * its expression is true, because the tests of promtool check `for`.
 */
async function startPrometheus(metricsPort: string) {
  const port = await freePort()
  const withoutFor = readFileSync(rulesFile, 'utf8').replaceAll(/^ *for: .*\n/gm, '')
  writeFileSync(`${folder.path}/rules.yaml`, withoutFor)
  writeFileSync(
    `${folder.path}/prometheus.yml`,
    `global: { scrape_interval: 500ms, evaluation_interval: 500ms, scrape_timeout: 500ms }
rule_files: [rules.yaml]
scrape_configs: [{ job_name: login, static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }] }]
`,
  )
  const url = `http://127.0.0.1:${port}`
  const program = await startProgram(
    [
      'prometheus',
      `--config.file=${folder.path}/prometheus.yml`,
      `--storage.tsdb.path=${folder.path}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    () => responds(`${url}/-/ready`),
  )
  const get = async (path: string) =>
    ((await (await fetch(url + path)).json()) as { data: any }).data

  return {
    stop: program.stop,
    query: async (expression: string): Promise<{ value: [number, string] }[]> =>
      (await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)).result,
    firing: async (): Promise<string[]> => {
      const { alerts } = await get('/api/v1/alerts')
      const names = alerts.map(({ labels }: any) => labels.alertname as string)
      return [...new Set<string>(names)].sort()
    },
    /** How often the rules were evaluated. */
    evaluations: async (): Promise<number> => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const [, count] = text.match(/^prometheus_rule_evaluations_total\{.*\} (\d+)$/m)!
      return Number(count)
    },
  }
}

/** Adds a connection whose provider's certificate ends in 20 days. */
async function addEndingConnection(sql: Sql): Promise<void> {
  const start = new Date() // of the ten years for which a certificate is valid
  start.setUTCFullYear(start.getUTCFullYear() - 10)
  start.setUTCDate(start.getUTCDate() + 20)
  const [ending, own] = [await newKeyPair('idp', start), await newKeyPair('own')]
  const settings = {
    issuer: 'https://idp.example.com',
    ssoUrl: 'https://idp.example.com/sso',
    certificates: [ending.certificate],
    signed: 'either',
    signRequests: false,
    certificate: own.certificate,
  }
  await sql(
    `INSERT INTO connections (slug, name, kind, settings) VALUES ('acme', 'ACME', 'saml', $1)`,
    [settings],
  )
}

test('Prometheus reads the metrics, and an alert fires with its fault', async () => {
  const [redis, database] = [await startRedis(), await openOwnDatabase()]
  await addEndingConnection(database.sql) // first, because certificates are not read again
  const METRICS_PORT = String(await freePort())
  const server = await startServer({
    DATABASE_URL: database.url(),
    ...redis.settings,
    METRICS_PORT,
    PASSWORD_SIGN_IN: 'true',
    SMTP_URL: 'smtp://127.0.0.1:9', // no mail server
    MAIL_FROM: 'login@example.com',
  })
  const post = (path: string, body: object) =>
    postTo(server.url + path, body, { 'X-Forwarded-For': newAddress() })
  const { email, password } = await newPasswordUser(database.sql)
  expect((await post(routes.signIn.path, { email, password })).status).toBe(200)
  const prometheus = await startPrometheus(METRICS_PORT)
  const fires = (...names: string[]) =>
    expect
      .poll(prometheus.firing, { timeout: 30_000 })
      .toEqual(['LoginCertificateEnds', ...names].sort())

  try {
    const version = 'auth_version_info * on (instance) up'
    await expect
      .poll(() => prometheus.query(version), { timeout: 30_000 })
      .toHaveLength(1)
    const evaluated = await prometheus.evaluations()
    await expect
      .poll(prometheus.evaluations, { timeout: 30_000 })
      .toBeGreaterThan(evaluated + 2 * rules.length)
    expect(await prometheus.firing()).toEqual(['LoginCertificateEnds'])

    await database.sql('ALTER TABLE exchange_codes RENAME TO renamed')
    expect((await post(exchangePath, { code: 'fabricated' })).status).toBe(500)
    await fires('LoginErrors')

    for (let count = 0; count < 20; count++)
      await post(routes.signIn.path, {
        email: `${randomUUID()}@example.com`,
        password: newPassword(),
      })
    await fires('LoginErrors', 'LoginPasswordsRejected')

    await redis.kill()
    await fetch(`${server.url}/api/health`)
    await fires('LoginErrors', 'LoginPasswordsRejected', 'LoginRedisUnavailable')

    await database.sql(
      `INSERT INTO mails (kind, user_id, language, requested_at, due_at)
       SELECT 'password-changed', id, 'en', now() - interval '1 hour', now() + interval '1 hour'
       FROM users, generate_series(1, 3)`,
    )
    await database.sql(
      `UPDATE _prisma_migrations SET rolled_back_at = now()
       WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)`,
    )
    await fires(
      ...['LoginErrors', 'LoginPasswordsRejected', 'LoginRedisUnavailable'],
      ...['LoginEmailsWait', 'LoginMigrationsPending'],
    )
  } finally {
    await prometheus.stop()
    await server.stop()
    await redis.stop()
    await database.drop()
  }
})

// lines of rows that name no message
const linesOfRequests = {
  '`clean-up`': { route: 'clean-up', status: 200 },
  'no 200 of `scim`': { route: 'scim', status: 200 },
  'contain `disabled`': { route: 'scim', status: 204, scim: 'disabled deleted' },
}

test('each filter for the log selects the lines of its alert, and no others', () => {
  const rows = readRows().filter(({ filter }) => filter !== null)
  const samples = rows.flatMap((row) => {
    const more = Object.entries(linesOfRequests).flatMap(([text, line]) =>
      row.metric.includes(text) ? [line] : [],
    )
    const lines = [...sampleLines(row), ...more].map((line) => JSON.stringify(line))
    expect(lines, row.metric).not.toEqual([])
    return lines.map((line) => ({ row, line }))
  })
  const input = ['Listening on http://localhost:3000', ...samples.map(({ line }) => line)]

  for (const row of rows) {
    const program = `fromjson? | objects | select(${row.filter})`
    const selected = execFileSync('jq', ['-cR', program], {
      input: input.join('\n'),
      encoding: 'utf8',
    })
    const own = samples.filter((sample) => sample.row === row).map(({ line }) => line)
    expect(selected.trim().split('\n'), row.metric).toEqual(own)
  }
})
