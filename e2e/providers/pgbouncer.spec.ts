import { chmodSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import * as paths from '../../lib/contract/paths'
import {
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  postTo,
  test,
} from '../support/fixtures'
import { startProgram, temporaryFolder } from '../support/program'
import { newAddress } from '../support/secrets'
import { freePort, startServer } from '../support/server'

test('PgBouncer in transaction mode: 40 exchanges and several resets succeed', async ({
  sql,
}) => {
  const folder = temporaryFolder('pgbouncer')
  chmodSync(folder.path, 0o755) // because PgBouncer does not run as root
  const port = await freePort()
  const {
    hostname,
    port: serverPort,
    username,
    password,
    pathname,
  } = new URL(process.env.DATABASE_URL!)
  const login = `user=${username}${password && ` password=${password}`}`
  writeFileSync(
    `${folder.path}/pgbouncer.ini`,
    `[databases]
auth = host=${hostname} port=${serverPort} dbname=${pathname.slice(1)} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  )
  const url = `postgresql://app:any@127.0.0.1:${port}/auth?pgbouncer=true`
  const isReady = async () => {
    const client = new pg.Client(url)
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  }
  const pooler = await startProgram(
    ['/usr/sbin/pgbouncer', '-u', 'nobody', `${folder.path}/pgbouncer.ini`],
    isReady,
  )
  const server = await startServer({ DATABASE_URL: url, DATABASE_POOL_SIZE: '10' }) // more connections than PgBouncer has
  const post = (path: string, body: object) =>
    postTo(server.url + path, body, { 'X-Forwarded-For': newAddress() })
  const users = await newUsers(sql, 40)
  const bodies = await Promise.all(
    users.map(async (user) => ({ code: await newCode(user) })),
  )
  const exchanges = await Promise.all(
    bodies.map((body) => post(paths.exchangeSsoCode, body)),
  )
  expect(exchanges.map(({ status }) => status)).toEqual(Array(40).fill(200))
  for (const user of users.slice(0, 4))
    expect(
      (
        await post(paths.resetPassword, {
          token: await newToken(user),
          password: newPassword(),
        })
      ).status,
    ).toBe(200)
  await server.stop()
  await pooler.stop()
  folder.remove()
})
