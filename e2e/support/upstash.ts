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
  /** The settings for a server that uses it. */
  settings: Record<string, string>
  /** Every received command. */
  commands: string[][]
  redis: Redis
  /** The responses to EVAL since the last call of `slowDown`. */
  scriptsRun: () => number
  /** From now on, delays every response and does not know any script. */
  slowDown: (ms: number) => void
  /** From now on, returns this result for every command, until called with `undefined`. */
  respondWith: (result: unknown) => void
  /** From now on, adds so many spaces to each response, and compresses it. */
  pad: (bytes: number) => void
  freeze: () => void
  thaw: () => void
  kill: () => Promise<void>
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/**
 * Starts a real Redis behind Upstash's HTTP protocol: each POST is a command or a pipeline, results
 * are in base64. Upstash's scripts begin with a `#!lua` line with flags that Redis does not know. A
 * script runs without that line, so its hash differs from the one that the client uses.
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
  redis.on('error', () => {}) // tests kill it
  await once(redis, 'ready')

  const commands: string[][] = []
  let delayMs = 0
  let scriptsRun = 0
  let fabricated: unknown
  let padding = 0
  const scripts = new Map<string, string>() // from the client's hash of a script to that of the script that was run
  const perform = async ([name = '', ...parameters]: string[]): Promise<unknown> => {
    const [script = '', ...rest] = parameters
    if (name.toLowerCase() === 'eval') {
      const plain = script.replace(/^#!lua.*\n/, '')
      scripts.set(sha1(script), sha1(plain))
      scriptsRun++
      return redis.eval(plain, ...(rest as [string]))
    }
    if (name.toLowerCase() !== 'evalsha') return redis.call(name, ...parameters)
    const known = scripts.get(script)
    if (!known) throw new Error('NOSCRIPT No matching script.')
    return redis.evalsha(known, ...(rest as [string]))
  }

  const front = createServer(async (request, response) => {
    const respond = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      const text = JSON.stringify(body)
      response.end(text + ' '.repeat(padding))
    }
    if (request.headers.authorization !== `Bearer ${token}`) return respond(401, { error: 'Unauthorized' })
    const body = JSON.parse(await textOf(request)) as unknown[]
    if (delayMs) await new Promise((resolve) => setTimeout(resolve, delayMs))
    const execute = async (command: string[]) => {
      commands.push(command)
      if (fabricated !== undefined) return { result: encode(fabricated) }
      return perform(command).then(
        (result) => ({ result: encode(result) }),
        (error: Error) => ({ error: error.message }),
      )
    }
    if (request.url === '/pipeline')
      return respond(200, await Promise.all((body as unknown[][]).map((command) => execute(command.map(String)))))
    const only = await execute(body.map(String))
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
    scriptsRun: () => scriptsRun,
    slowDown: (ms) => {
      delayMs = ms
      scriptsRun = 0
      scripts.clear()
    },
    respondWith: (result) => {
      fabricated = result
    },
    pad: (bytes) => {
      padding = bytes
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
