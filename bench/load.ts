import autocannon from 'autocannon'
import { cpuMsOf, type Server } from './servers'

export type Load = {
  server: Server
  path: string
  /** The body of the next request. Without it, the request is a GET. */
  body?: () => object
  /** Additional headers of the next request. */
  headers?: () => Record<string, string>
  connections: number
  amount: number
}

export type Measured = { perSecond: number; p50: number; p99: number; cpuMs: number }

// The servers are measured alternately. The operating system may have paged out the code
// of an idle server.
const unmeasuredShare = 1 / 5
let sent = 0

/**
 * Sends a load to a server. After the first fifth of the requests, measures from outside:
 * responses per second, latencies in ms, and the CPU time of the server per request.
 */
export async function measure(load: Load): Promise<Measured> {
  const { server, path, body, headers, connections, amount } = load
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let unmeasured = Math.floor(amount * unmeasuredShare)
  let before = cpuMsOf(server.process)
  let startedAt = performance.now()
  let endedAt = startedAt
  const options: autocannon.Options = {
    url: server.url,
    connections,
    amount,
    requests: [
      {
        method: body ? 'POST' : 'GET',
        path,
        setupRequest: (request) => {
          request.headers = { 'x-forwarded-for': nextIpAddress(), ...headers?.() }
          if (!body) return request
          request.headers['content-type'] = 'application/json'
          request.body = JSON.stringify(body())
          return request
        },
      },
    ],
  }
  const { errors } = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(options, (error, result) =>
      error ? reject(error) : resolve(result),
    )
    run.on('response', (_client, received, _bytes, milliseconds) => {
      statuses[received] = (statuses[received] ?? 0) + 1
      endedAt = performance.now()
      if (unmeasured === 0) latencies.push(milliseconds)
      else if (--unmeasured === 0) {
        before = cpuMsOf(server.process)
        startedAt = endedAt
      }
    })
  })
  const cpuMs = cpuMsOf(server.process) - before
  if (errors || Object.keys(statuses).some((status) => status !== '200'))
    throw new Error(
      `${path}: ${errors} errors; expected 200, got ${JSON.stringify(statuses)}`,
    )
  latencies.sort((a, b) => a - b)
  return {
    perSecond: latencies.length / ((endedAt - startedAt) / 1000),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpuMs: cpuMs / latencies.length,
  }
}

function nextIpAddress(): string {
  const number = Math.floor(sent++ / 10)
  return `10.${number & 255}.${(number >> 8) & 255}.${(number >> 16) & 255}` // each in a different address block
}

/** Returns the value below which the given share of the sorted values lies. */
const quantile = (sorted: number[], share: number) =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN

export const median = (values: number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
