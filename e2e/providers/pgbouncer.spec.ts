import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import * as paths from '../../lib/contract/paths'
import { expect, newCode, newPassword, newToken, newUsers, postTo, test } from '../support/fixtures'
import { startProgram, temporaryFolder } from '../support/program'
import { newAddress } from '../support/secrets'
import { freePort, startServer } from '../support/server'

/** Starts PgBouncer in transaction mode, with fewer connections than its clients have. Returns its URL for the tests' database. */
async function startPgBouncer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = temporaryFolder('pgbouncer')
  chmodSync(folder.path, 0o755) // it does not run as root
  const port = await freePort()
  const { hostname, port: serverPort, username, password, pathname } = new URL(process.env.DATABASE_URL!)
  const database = pathname.slice(1)
  const login = `user=${username}${password && ` password=${password}`}`
  writeFileSync(
    `${folder.path}/pgbouncer.ini`,
    `[databases]
${database} = host=${hostname} port=${serverPort} dbname=${database} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  )
  const isReady = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
  const program = await startProgram(['/usr/sbin/pgbouncer', '-u', 'nobody', `${folder.path}/pgbouncer.ini`], isReady)
  const stop = async () => {
    await program.stop()
    folder.remove()
  }
  return { url: `postgresql://app:any@127.0.0.1:${port}/${database}`, stop }
}

test('PgBouncer in transaction mode: 40 of 40 exchanges, and resets, whose transactions stay on one connection', async ({
  sql,
}) => {
  const pooler = await startPgBouncer()
  const server = await startServer({ DATABASE_URL: `${pooler.url}?pgbouncer=true`, DATABASE_POOL_SIZE: '10' })
  const users = await newUsers(sql, 40)
  const post = (path: string, body: object) => postTo(server.url + path, body, { 'X-Forwarded-For': newAddress() })
  const exchanges = await Promise.all(
    users.map(async (user) => post(paths.exchangeSsoCode, { code: await newCode(user) })),
  )
  expect(exchanges.filter(({ status }) => status === 200)).toHaveLength(40)
  const resets = users.slice(0, 6).map(async (user) => {
    return post(paths.resetPassword, { token: await newToken(user), password: newPassword() })
  })
  for (const { status } of await Promise.all(resets)) expect(status).toBe(200)
  expect((await fetch(`${server.url}/api/health/ready`)).status).toBe(200)
  await server.stop()
  await pooler.stop()
})
