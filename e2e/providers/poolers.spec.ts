import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import * as routes from '../../lib/contract/routes'
import {
  type BreakablePostgres,
  startBreakablePostgres,
} from '../support/databases/breakable-postgres'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { startProgram, temporaryFolder } from '../support/servers/program'
import { freePort, startServer } from '../support/servers/server'

type Stoppable = { stop: () => Promise<void> }
type Pooler = Stoppable & { url: string }
/** `more`: lines of the configuration. */
type StartPooler = (
  databaseUrl: string,
  given?: { poolSize?: number; more?: string },
) => Promise<Pooler>

const started: Stoppable[] = []
test.afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.stop()
})

function stopLater<Each extends Stoppable>(each: Each): Each {
  started.push(each)
  return each
}

const startPgBouncer: StartPooler = async (
  databaseUrl,
  { poolSize = 3, more = '' } = {},
) => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const login = `user=${username}${password && ` password=${password}`}`
  return startPooler(
    (poolerPort) => `[databases]
auth = host=${hostname} port=${port} dbname=${pathname.slice(1)} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${poolerPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
${more}
`,
    (file) => ['/usr/sbin/pgbouncer', '-u', 'nobody', file],
    (poolerPort) => `postgresql://app:any@127.0.0.1:${poolerPort}/auth`,
  )
}

const startPgpool: StartPooler = async (databaseUrl, { more = '' } = {}) => {
  const { hostname, port } = new URL(databaseUrl)
  return startPooler(
    (poolerPort, folder) => `
listen_addresses = '127.0.0.1'
port = ${poolerPort}
socket_dir = '${folder}'
pcp_listen_addresses = ''
pcp_socket_dir = '${folder}'
pid_file_name = '${folder}/pgpool.pid'
logdir = '${folder}'
backend_clustering_mode = 'raw'
backend_hostname0 = '${hostname}'
backend_port0 = ${port}
backend_flag0 = 'DISALLOW_TO_FAILOVER'
failover_on_backend_error = off
num_init_children = 12
allow_clear_text_frontend_auth = on
${more}
`,
    (file) => ['/usr/sbin/pgpool', '-n', '-f', file],
    (poolerPort) => {
      const url = new URL(databaseUrl)
      url.port = String(poolerPort)
      return url.href
    },
  )
}

async function startPooler(
  configure: (port: number, folder: string) => string,
  command: (file: string) => string[],
  urlAt: (port: number) => string,
): Promise<Pooler> {
  const folder = temporaryFolder('pooler')
  chmodSync(folder.path, 0o755) // because PgBouncer does not run as root
  const file = `${folder.path}/pooler.ini`
  const port = await freePort()
  writeFileSync(file, configure(port, folder.path))

  const url = urlAt(port)
  const isReady = () => {
    const client = new pg.Client(url)
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  }
  const pooler = await startProgram(command(file), isReady)
  const stop = async () => {
    await pooler.stop()
    folder.remove()
  }
  return stopLater({ url, stop })
}

const start = async (settings: Record<string, string>) =>
  stopLater(await startServer(settings))

const post = (url: string, body: object) =>
  postTo(url, body, { 'X-Forwarded-For': newAddress() })

test('PgBouncer in transaction mode: 40 exchanges and several resets succeed', async ({
  sql,
}) => {
  const pooler = await startPgBouncer(process.env.DATABASE_URL!)
  const server = await start({
    DATABASE_URL: `${pooler.url}?pgbouncer=true`,
    DATABASE_POOL_SIZE: '10', // more connections than PgBouncer has
  })
  const users = await newUsers(sql, 40)
  const bodies = await Promise.all(
    users.map(async (user) => ({ code: await newCode(user) })),
  )
  const exchanges = await Promise.all(
    bodies.map((body) => post(server.url + exchangePath, body)),
  )
  expect(exchanges.map(({ status }) => status)).toEqual(Array(40).fill(200))
  for (const user of users.slice(0, 4)) {
    const body = { token: await newToken(user), password: newPassword() }
    expect((await post(server.url + resetPath, body)).status).toBe(200)
  }
})

test('PgBouncer without DATABASE_POOLED: ready fails, and the log names the setting', async () => {
  const pooler = await startPgBouncer(process.env.DATABASE_URL!, { poolSize: 1 })
  // both prepare the same statement, on the only connection of the pooler
  const settings = { DATABASE_URL: pooler.url }
  const servers = [await start(settings), await start(settings)]
  const statuses = []
  for (const { url } of servers)
    statuses.push((await fetch(url + routes.getReadiness.path)).status)
  expect(statuses).toEqual([200, 503])
  expect(servers[1]!.output()).toContain('DATABASE_POOLED=true')
})

/** Makes each use of a code or token wait for a lock when it commits. */
const waitAtCommit = `
  CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
  CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON exchange_codes DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.used_at IS NOT NULL) EXECUTE FUNCTION wait_at_commit();
  CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON reset_tokens DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.used_at IS NOT NULL) EXECUTE FUNCTION wait_at_commit()`

/** Runs `send`, and cuts the connections of PostgreSQL after the commit. */
async function cutAfterCommit<Result>(
  postgres: BreakablePostgres,
  table: string,
  send: () => Promise<Result>,
): Promise<Result> {
  const locks = (granted: boolean) =>
    postgres.sql(
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted = ${granted}`,
    )
  const holding = postgres.sql('SELECT pg_advisory_lock(1), pg_sleep(60)').catch(() => {})
  await expect.poll(() => locks(true), { intervals: [20] }).toHaveLength(1)
  const result = send()
  await expect.poll(() => locks(false), { intervals: [20] }).toHaveLength(1)

  postgres.mute()
  const [holder] = await locks(true)
  await postgres.sql('SELECT pg_terminate_backend($1)', [holder!.pid])
  await holding
  const used = `SELECT 1 FROM ${table} WHERE used_at IS NOT NULL`
  await expect.poll(() => postgres.sql(used), { intervals: [20] }).toHaveLength(1)
  postgres.unplug()
  return result.finally(postgres.plug)
}

for (const [name, startIt] of [
  ['PgBouncer', startPgBouncer],
  ['pgpool-II', startPgpool],
] as const) {
  test(`${name}: the outcome is unknown if PostgreSQL is cut off after a commit`, async () => {
    const postgres = stopLater(await startBreakablePostgres())
    await postgres.sql(`ALTER ROLE app SET TimeZone = 'UTC'; ${waitAtCommit}`)
    const pooler = await startIt(postgres.url)
    const server = await start({
      DATABASE_URL: pooler.url,
      DATABASE_POOLED: 'true',
    })
    const [user] = await newUsers(postgres.sql, 1)
    const issue = async (columns: string) => {
      const secret = keepSecret(randomBytes(32).toString('base64url'))
      await postgres.sql(
        `INSERT INTO ${columns}, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`,
        [createHash('sha256').update(secret).digest(), user!.id],
      )
      return secret
    }
    const code = await issue('exchange_codes (code_hash')
    const token = await issue('reset_tokens (token_hash')

    const responses = [
      await cutAfterCommit(postgres, 'exchange_codes', () =>
        post(server.url + exchangePath, { code }),
      ),
      await cutAfterCommit(postgres, 'reset_tokens', () =>
        post(server.url + resetPath, { token, password: newPassword() }),
      ),
    ]
    for (const { status, body } of responses)
      expect([status, body.code, body.outcome]).toEqual([
        503,
        'SERVICE_UNAVAILABLE',
        'unknown',
      ])
  })
}

const codesOfRestart = 2_000

/** Stores unused codes of one user, and returns them. */
async function issueCodes(postgres: BreakablePostgres): Promise<string[]> {
  const [user] = await newUsers(postgres.sql, 1)
  const codes = Array.from({ length: codesOfRestart }, () =>
    keepSecret(randomBytes(32).toString('base64url')),
  )
  await postgres.sql(
    `INSERT INTO exchange_codes (code_hash, user_id, expires_at)
     SELECT hash, $1, now() + interval '1 hour' FROM unnest($2::bytea[]) AS hash`,
    [user!.id, codes.map((code) => createHash('sha256').update(code).digest())],
  )
  return codes
}

type Response = Awaited<ReturnType<typeof post>>
type Sent = { code: string; response: Response }

/** Exchanges codes, eight at a time, until `until` resolves. */
async function exchangeUntil(
  url: string,
  codes: string[],
  until: Promise<unknown>,
): Promise<Sent[]> {
  const sent: Sent[] = []
  let isOver = false
  const work = async () => {
    while (!isOver && codes.length > 0) {
      const code = codes.pop()!
      sent.push({ code, response: await post(url + exchangePath, { code }) })
      await sleep(20)
    }
  }
  const workers = Array.from({ length: 8 }, work)
  await until.finally(() => {
    isOver = true
  })
  await Promise.all(workers)
  return sent
}

const isUnknown = ({ response }: Sent) => response.body.outcome === 'unknown'

for (const [name, startIt, more, seconds] of [
  ['PgBouncer', startPgBouncer, 'server_login_retry = 1', '15'],
  ['pgpool-II', startPgpool, '', '5'],
] as const)
  for (const [fault, stop] of [
    ['restarts', (postgres: BreakablePostgres) => postgres.shutDown()],
    ['crashes', (postgres: BreakablePostgres) => postgres.kill()],
  ] as const)
    test(`${name}: under load, while PostgreSQL ${fault}, every failure is a 503 with the right outcome and Retry-After`, async () => {
      const postgres = stopLater(await startBreakablePostgres())
      await postgres.sql(`ALTER ROLE app SET TimeZone = 'UTC'`)
      const pooler = await startIt(postgres.url, { more })
      const server = await start({ DATABASE_URL: pooler.url, DATABASE_POOLED: 'true' })
      const codes = await issueCodes(postgres)

      const restart = async () => {
        await expect.poll(() => codes.length).toBeLessThan(codesOfRestart - 20)
        await postgres.restartAfter(() => stop(postgres))
        const isBack = () =>
          post(server.url + exchangePath, { code: codes.pop()! }).then(
            ({ status }) => status,
          )
        await expect.poll(isBack).toBe(200)
      }
      const sent = await exchangeUntil(server.url, codes, restart())

      const failed = sent.filter(({ response }) => response.status !== 200)
      expect(failed.length).toBeGreaterThan(8)
      for (const { response } of failed)
        expect([response.status, response.body.code]).toEqual([
          503,
          'SERVICE_UNAVAILABLE',
        ])
      const waits = failed.map(({ response }) => response.headers.get('retry-after')!)
      expect([...new Set([...waits, seconds, '5'])].sort()).toEqual(
        [...new Set([seconds, '5'])].sort(),
      )
      expect(waits).toContain(seconds)

      // Nothing was changed, unless the outcome is unknown.
      const unchanged = failed.filter((each) => !isUnknown(each))
      expect(unchanged.length).toBeGreaterThan(0)
      for (const { code } of unchanged.slice(0, 40))
        expect((await post(server.url + exchangePath, { code })).status).toBe(200)
    })

for (const [name, startIt, more] of [
  ['PgBouncer', startPgBouncer, 'max_client_conn = 5'],
  ['pgpool-II', startPgpool, 'num_init_children = 5\nreserved_connections = 2'],
] as const)
  test(`${name}: with too many clients, a request is a 503 that changed nothing`, async ({
    sql,
  }) => {
    const pooler = await startIt(process.env.DATABASE_URL!, { more })
    const settings = { DATABASE_URL: pooler.url, DATABASE_POOLED: 'true' }
    const server = await start({ ...settings, DATABASE_POOL_SIZE: '20' })
    const users = await newUsers(sql, 20)
    const codes = await Promise.all(users.map((user) => newCode(user)))
    const exchange = (code: string) => post(server.url + exchangePath, { code })

    const responses = await Promise.all(codes.map(exchange))
    const failed = codes.filter((_, index) => responses[index]!.status !== 200)
    expect(failed.length).toBeGreaterThan(0)
    for (const { status, body, headers } of responses.filter(
      ({ status }) => status !== 200,
    ))
      expect([status, body.outcome, headers.get('retry-after')]).toEqual([
        503,
        undefined,
        '5',
      ])
    for (const code of failed) expect((await exchange(code)).status).toBe(200)
  })
