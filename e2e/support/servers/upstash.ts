import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { listen } from './listen'
import { startRedis, type TestRedis } from './redis'

const token = 'token-of-the-test-redis'

export type Upstash = TestRedis & {
  /** All received commands. */
  commands: string[][]
  /** Returns how often EVAL has run a script since the last call of `slowDown`. */
  scriptsRun: () => number
  /** From now on, delays every response and reports every script as missing. */
  slowDown: (ms: number) => void
  /**
   * From now on, returns this result for every command. `undefined` restores the real
   * results.
   */
  respondWith: (result: unknown) => void
}

/**
 * Starts a real Redis behind Upstash's HTTP protocol. Each POST is a command or a
 * pipeline, and results are in base64. Upstash's scripts begin with a `#!lua` line whose
 * flags Redis does not support. They run without that line, so their hashes differ from
 * those of the client.
 */
export async function startUpstash(): Promise<Upstash> {
  const redis = await startRedis()
  const { client } = redis
  const commands: string[][] = []
  let delayMs = 0
  let scriptsRun = 0
  let fabricated: unknown
  // maps the client's hash of a script to the hash of the script in Redis
  const scripts = new Map<string, string>()
  const perform = async ([name = '', ...parameters]: string[]): Promise<unknown> => {
    const [script = '', ...rest] = parameters
    if (name.toLowerCase() === 'eval') {
      const plain = script.replace(/^#!lua.*\n/, '')
      scripts.set(sha1(script), sha1(plain))
      scriptsRun++
      return client.eval(plain, ...(rest as [string]))
    }
    if (name.toLowerCase() !== 'evalsha') return client.call(name, ...parameters)
    const known = scripts.get(script)
    if (!known) throw new Error('NOSCRIPT No matching script.')
    return client.evalsha(known, ...(rest as [string]))
  }

  const front = createServer(async (request, response) => {
    const respond = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.headers.authorization !== `Bearer ${token}`)
      return respond(401, { error: 'Unauthorized' })
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
      return respond(
        200,
        await Promise.all(
          (body as unknown[][]).map((command) => execute(command.map(String))),
        ),
      )
    const only = await execute(body.map(String))
    respond('error' in only ? 400 : 200, only)
  })
  const { url, stop } = await listen(front)

  return {
    ...redis,
    settings: {
      RATE_LIMIT: 'upstash',
      UPSTASH_REDIS_REST_URL: url,
      UPSTASH_REDIS_REST_TOKEN: token,
    },
    commands,
    scriptsRun: () => scriptsRun,
    slowDown: (ms) => {
      delayMs = ms
      scriptsRun = 0
      scripts.clear()
    },
    respondWith: (result) => {
      fabricated = result
    },
    stop: async () => {
      await Promise.all([stop(), redis.stop()])
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
