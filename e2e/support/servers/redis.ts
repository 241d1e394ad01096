import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { freePort } from './server'
import { findRedisServer } from './tools'

export type TestRedis = {
  /** The settings for a server that uses this Redis. */
  settings: Record<string, string>
  client: Redis
  freeze: () => void
  thaw: () => void
  kill: () => Promise<void>
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/** Starts a real Redis with a password. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  const password = randomUUID()
  const parameters = [
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--requirepass',
    password,
  ]
  const start = async () => {
    const server = spawn(findRedisServer(), ['--port', String(port), ...parameters], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of server.stdout)
      if (String(line).includes('Ready to accept connections')) break
    server.stdout.resume()
    return server
  }
  let process = await start()
  const url = `redis://:${password}@127.0.0.1:${port}`
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    retryStrategy: () => 100,
    enableAutoPipelining: true,
  })
  client.on('error', () => {}) // tests kill Redis
  await once(client, 'ready')
  return {
    settings: { RATE_LIMIT: '', REDIS_URL: url },
    client,
    freeze: () => void process.kill('SIGSTOP'),
    thaw: () => void process.kill('SIGCONT'),
    kill: async () => {
      process.kill('SIGKILL')
      await once(process, 'exit')
    },
    restart: async () => {
      process = await start()
    },
    stop: async () => {
      client.disconnect()
      process.kill('SIGKILL')
    },
  }
}
