import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { freePort } from './server'
import { findRedisServer } from './tools'

const token = 'token-of-the-test-redis'

export type Upstash = {
  /** What a server needs to use it. */
  settings: Record<string, string>
  /** Every command that arrived, as it was sent. */
  commands: string[][]
  redis: Redis
  /** From now on every answer comes that much later, and the scripts are forgotten. */
  slowDown: (ms: number) => void
  /** From now on every command gets this result; `undefined` ends that. */
  respondWith: (result: unknown) => void
  freeze: () => void
  thaw: () => void
  kill: () => Promise<void>
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/**
 * A real Redis behind Upstash's HTTP protocol: a command or a pipeline of them a POST, answers in base64. Upstash's scripts begin with a `#!lua` line whose flags
 * only Upstash knows, so a script runs without that line, and is remembered under the hash that the client knows it by.
 */
export async function startUpstash(): Promise<Upstash> {
  const redisPort = await freePort()
  const start = async () => {
    const server = spawn(
      findRedisServer(),
      ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    for await (const line of server.stdout) if (String(line).includes('Ready to accept connections')) break
    server.stdout.resume()
    return server
  }
  let process = await start()
  const redis = new Redis({
    port: redisPort,
    host: '127.0.0.1',
    maxRetriesPerRequest: 0,
    retryStrategy: () => 100,
    enableAutoPipelining: true,
  })
  redis.on('error', () => {}) // a test kills it
  await once(redis, 'ready')

  const commands: string[][] = []
  let delayMs = 0
  let fabricated: unknown
  const scripts = new Map<string, string>() // the hash that the client knows a script by, and the hash of what was run
  const perform = async ([name = '', ...parameters]: string[]): Promise<unknown> => {
    const [script = '', ...rest] = parameters
    if (name.toLowerCase() === 'eval') {
      const plain = script.replace(/^#!lua.*\n/, '')
      scripts.set(sha1(script), sha1(plain))
      return redis.eval(plain, ...(rest as [string]))
    }
    if (name.toLowerCase() !== 'evalsha') return redis.call(name, ...parameters)
    const known = scripts.get(script)
    if (!known) throw new Error('NOSCRIPT No matching script.')
    return redis.evalsha(known, ...(rest as [string]))
  }

  const front = createServer(async (request, response) => {
    const respond = (status: number, body: unknown) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    if (request.headers.authorization !== `Bearer ${token}`) return respond(401, { error: 'Unauthorized' })
    const body = JSON.parse(await textOf(request)) as unknown[]
    if (delayMs) await new Promise((resolve) => setTimeout(resolve, delayMs))
    const answer = async (command: string[]) => {
      commands.push(command)
      if (fabricated !== undefined) return { result: encode(fabricated) }
      return perform(command).then(
        (result) => ({ result: encode(result) }),
        (error: Error) => ({ error: error.message }),
      )
    }
    if (request.url === '/pipeline')
      return respond(200, await Promise.all((body as unknown[][]).map((command) => answer(command.map(String)))))
    const only = await answer(body.map(String))
    respond('error' in only ? 400 : 200, only)
  }).listen(0)
  await once(front, 'listening')

  return {
    settings: {
      RATE_LIMIT: 'upstash',
      UPSTASH_REDIS_REST_URL: `http://localhost:${(front.address() as AddressInfo).port}`,
      UPSTASH_REDIS_REST_TOKEN: token,
    },
    commands,
    redis,
    slowDown: (ms) => {
      delayMs = ms
      scripts.clear()
    },
    respondWith: (result) => {
      fabricated = result
    },
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
      redis.disconnect()
      front.closeAllConnections()
      front.close()
      process.kill('SIGKILL')
    },
  }
}

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex')

function encode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encode)
  return typeof value === 'string' ? Buffer.from(value).toString('base64') : value
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
