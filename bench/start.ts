import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from './load'
import type { Requests } from './operations'
import { describeRun } from './report'
import { cpuMsOf, type Server } from './servers'

const starts = 7
const settleMs = 1_000

/** A server to start, and the first requests that it gets. */
export type Starter = {
  name: string
  start: () => Promise<Server>
  exchange: () => Promise<Requests>
  page: () => Promise<Requests>
}

/**
 * The processor time until the first exchange, that of the first page, and the memory one
 * second later: the proportional set size, which shares a page of memory between the
 * processes that use it.
 */
type Start = { exchangeMs: number; pageMs: number; memoryMb: number }

const columns: [keyof Start, string][] = [
  ['exchangeMs', 'first exchange, CPU ms from the start'],
  ['pageMs', 'first page, CPU ms'],
  ['memoryMb', 'memory, MB'],
]

/**
 * Starts each server seven times, in turns, and prints a Markdown table of the medians.
 * Works on Linux only, which tells the memory of a process.
 */
export async function measureStarts(
  starters: Starter[],
  log: (line: string) => void,
): Promise<void> {
  const results = new Map<string, Start[]>(starters.map(({ name }) => [name, []]))

  for (let round = 1; round <= starts; round++) {
    log(`Start ${round} of ${starts} …`)
    for (const starter of starters)
      results.get(starter.name)!.push(await measureStart(starter))
  }

  const ofProduct = results.get('product')!
  const lines = [...results].map(([name, own]) => formatRow(name, own, ofProduct))
  const titles = columns.flatMap(([, title]) => [title, 'product ÷ this'])
  console.log(
    [
      `| | ${titles.join(' | ')} |`,
      `|---|${'---:|'.repeat(titles.length)}`,
      ...lines,
      '',
      describeRun(`${starts} starts`),
    ].join('\n'),
  )
}

async function measureStart({ start, exchange, page }: Starter): Promise<Start> {
  const [first, second] = [await exchange(), await page()]
  const server = await start()
  try {
    await send(server, first)
    const exchangeMs = cpuMsOf(server.process)
    await send(server, second)
    const pageMs = cpuMsOf(server.process) - exchangeMs
    await sleep(settleMs)
    return { exchangeMs, pageMs, memoryMb: memoryOf(server) }
  } finally {
    await server.stop()
  }
}

async function send({ url }: Server, { path, body, headers }: Requests): Promise<void> {
  const response = await fetch(url + path, {
    headers: { 'Content-Type': 'application/json', ...headers?.() },
    ...(body && { method: 'POST', body: JSON.stringify(body()) }),
  })
  await response.text()
  if (response.status !== 200) throw new Error(`${path}: got ${response.status}`)
}

function memoryOf({ process: { pid } }: Server): number {
  const [, kilobytes] = /^Pss: +(\d+)/m.exec(
    readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'),
  )!
  return Number(kilobytes) / 1024
}

function formatRow(name: string, own: Start[], product: Start[]): string {
  const cells = columns.flatMap(([column]) => {
    const ratios = own.map((one, round) => product[round]![column] / one[column])
    return [
      String(Math.round(median(own.map((one) => one[column])))),
      name === 'product' ? '' : median(ratios).toFixed(2),
    ]
  })
  return `| ${[name, ...cells].join(' | ')} |`
}
