import autocannon from 'autocannon'
import { type Server, usageOf } from './servers'

export type Load = {
  server: Server
  path: string
  /** The body of the next request. Without it, the request is a GET. */
  body?: () => object
  /** Additional headers of the next request. */
  headers?: () => Record<string, string>
  /** The expected status of every response, or null if there are several. */
  status: number | null
  connections: number
  amount: number
  /** The IP address of all requests. By default, it changes after every ten requests. */
  ipAddress?: string
}

export type Measured = {
  perSecond: number
  p50: number
  p99: number
  cpuMs: number
  memoryMb: number
  statuses: Record<string, number>
  /** The results of requests that were sent at the same time. */
  meanwhile?: Record<string, number>
}

// The servers take turns, and the operating system may have paged out code of one that was idle.
const unmeasuredShare = 1 / 5
let sent = 0

/**
 * Sends a load to a server and measures it from outside, after the first fifth: responses per second,
 * latencies in ms, CPU time of the server per request, and its memory afterwards.
 */
export async function measure(load: Load): Promise<Measured> {
  const { server, path, body, headers, status, connections, amount, ipAddress } = load
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let unmeasured = Math.floor(amount * unmeasuredShare)
  let before = usageOf(server.process)
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
          request.headers = { 'x-forwarded-for': ipAddress ?? nextIpAddress(), ...headers?.() }
          if (!body) return request
          request.headers['content-type'] = 'application/json'
          request.body = JSON.stringify(body())
          return request
        },
      },
    ],
  }
  const { errors } = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)))
    run.on('response', (_client, received, _bytes, milliseconds) => {
      statuses[received] = (statuses[received] ?? 0) + 1
      endedAt = performance.now()
      if (unmeasured === 0) latencies.push(milliseconds)
      else if (--unmeasured === 0) {
        before = usageOf(server.process)
        startedAt = endedAt
      }
    })
  })
  const after = usageOf(server.process)
  const wrong = Object.keys(statuses).filter((received) => status !== null && Number(received) !== status)
  if (errors || wrong.length)
    throw new Error(`${path}: ${errors} errors; expected ${status}, got ${JSON.stringify(statuses)}`)
  latencies.sort((a, b) => a - b)
  return {
    perSecond: latencies.length / ((endedAt - startedAt) / 1000),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpuMs: (after.cpuMs - before.cpuMs) / latencies.length,
    memoryMb: after.memoryMb,
    statuses,
  }
}

/**
 * Sends requests at a steady pace during `work`, without waiting for their responses. Returns the
 * result of the work, and how many responses had which status.
 */
export async function meanwhile<Result>(
  {
    server,
    path,
    body,
    everyMs,
    atMost,
  }: { server: Server; path: string; body: () => object; everyMs: number; atMost: number },
  work: () => Promise<Result>,
): Promise<{ result: Result; statuses: Record<string, number> }> {
  const statuses: Record<string, number> = {}
  const responses: Promise<void>[] = []
  const send = async () => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': nextIpAddress() }
    const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body()) }).catch(
      () => null,
    )
    await response?.arrayBuffer()
    const status = response?.status ?? 'none'
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const timer = setInterval(() => {
    if (responses.length < atMost) responses.push(send())
  }, everyMs)
  const result = await work()
  clearInterval(timer)
  await Promise.all(responses)
  return { result, statuses }
}

function nextIpAddress(): string {
  const number = Math.floor(sent++ / 10)
  return `10.${number & 255}.${(number >> 8) & 255}.${(number >> 16) & 255}` // of another site than the one before
}

/** The value below which the given share of the sorted values lies. */
export function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: number[]) =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
