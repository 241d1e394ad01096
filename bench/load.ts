import autocannon from 'autocannon'
import { type Server, usageOf } from './servers'

export type Load = {
  server: Server
  path: string
  /** The body of the next request. */
  body: () => object
  /** The status that every answer must have; null where several are right. */
  status: number | null
  connections: number
  amount: number
  /** All requests from one address, rather than ten from each. */
  address?: string
}

export type Measured = {
  perSecond: number
  p50: number
  p99: number
  cpuMs: number
  memoryMb: number
  statuses: Record<string, number>
  /** What came of requests that were sent beside. */
  meanwhile?: Record<string, number>
}

let sent = 0

/** Sends a load to a server and measures it from outside: what was answered in a second, latencies in ms, the server's CPU time a request, its memory afterwards. */
export async function measure({ server, path, body, status, connections, amount, address }: Load): Promise<Measured> {
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  const before = usageOf(server.process)
  const startedAt = performance.now()
  let endedAt = startedAt
  const options: autocannon.Options = {
    url: server.url,
    connections,
    amount,
    requests: [
      {
        method: 'POST',
        path,
        setupRequest: (request) => {
          request.headers = { 'content-type': 'application/json', 'x-forwarded-for': address ?? nextAddress() }
          request.body = JSON.stringify(body())
          return request
        },
      },
    ],
  }
  const { errors } = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)))
    run.on('response', (_client, answered, _bytes, milliseconds) => {
      endedAt = performance.now()
      latencies.push(milliseconds)
      statuses[answered] = (statuses[answered] ?? 0) + 1
    })
  })
  const after = usageOf(server.process)
  const wrong = Object.keys(statuses).filter((answered) => status !== null && Number(answered) !== status)
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

/** Sends requests at a steady pace while something else is done, without waiting for their answers; says what came of the work, and of the requests. */
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
  const answers: Promise<void>[] = []
  const send = async () => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': nextAddress() }
    const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body()) }).catch(
      () => null,
    )
    await answer?.arrayBuffer()
    const status = answer?.status ?? 'none'
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const timer = setInterval(() => {
    if (answers.length < atMost) answers.push(send())
  }, everyMs)
  const result = await work()
  clearInterval(timer)
  await Promise.all(answers)
  return { result, statuses }
}

function nextAddress(): string {
  const number = Math.floor(sent++ / 10)
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}

/** The value below which a share of the sorted values lies. */
export function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: number[]) =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
