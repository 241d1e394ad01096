import { type Browser, chromium } from 'playwright'
import { findChromium } from '../e2e/support/servers/tools'
import { median } from './load'
import { describeRun } from './report'
import type { Server } from './servers'
import type { Starter } from './start'

const rounds = 7
/** As Lighthouse simulates a phone: bytes per second, and a slower processor. */
const network = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
}
const cpuSlowdown = 4
const screen = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/**
 * Measures in Chromium, as on a phone, how long a sign-in takes from opening
 * `/sso/callback?code=…` to the request for the dashboard, with an empty cache. Prints a
 * Markdown table of the medians.
 */
export async function measurePhone(
  starters: Starter[],
  log: (line: string) => void,
): Promise<void> {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-background-networking'],
  })
  const servers: Server[] = []
  try {
    for (const { start } of starters) servers.push(await start())
    const results = starters.map((): number[] => [])

    for (let round = 0; round <= rounds; round++) {
      log(round === 0 ? 'Warming up …' : `Round ${round} of ${rounds} …`)
      for (const [index, { exchange }] of starters.entries()) {
        const { code } = (await exchange()).body!() as { code: string }
        const ms = await signIn(browser, servers[index]!.url, code)
        if (round > 0) results[index]!.push(ms)
      }
    }

    print(starters, results)
  } finally {
    for (const server of servers) await server.stop()
    await browser.close()
  }
}

async function signIn(browser: Browser, url: string, code: string): Promise<number> {
  const context = await browser.newContext(screen)
  try {
    const page = await context.newPage()
    const devTools = await context.newCDPSession(page)
    await devTools.send('Network.emulateNetworkConditions', network)
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown })

    const startedAt = performance.now()
    const leaves = page.waitForRequest((request) => request.url() === `${url}/`)
    await page.goto(`${url}/sso/callback?code=${code}`, { waitUntil: 'commit' })
    await leaves

    return performance.now() - startedAt
  } finally {
    await context.close()
  }
}

function print(starters: Starter[], results: number[][]): void {
  const lines = starters.map(({ name }, index) => {
    const own = results[index]!
    const ratios = own.map((ms, round) => results[0]![round]! / ms)
    const ratio = name === 'product' ? '' : median(ratios).toFixed(2)
    return `| ${name} | ${Math.round(median(own))} | ${ratio} |`
  })
  console.log(
    [
      '| | ms from the callback to the dashboard | product ÷ this |',
      '|---|---:|---:|',
      ...lines,
      '',
      describeRun(`${rounds} sign-ins`),
    ].join('\n'),
  )
}
