// `npm run bench:lighthouse`: the Lighthouse scores of every page, as on a phone. See
// bench/README.md.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { collect, newProgram, runCommand } from '../bin/command-line'
import { project } from '../bin/dev/local'
import { startEmbeddedPostgres } from '../bin/dev/postgres'
import { findChromium } from '../e2e/support/servers/tools'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { openDatabase } from './database'
import { median } from './load'
import { buildProduct, installTool, startServer } from './servers'

const rounds = 8
const categories = ['performance', 'accessibility', 'best-practices']
const report = `${project}.data/bench/lighthouse.json`
const log = (line: string) => console.error(line)

/** The score of a page in each category. */
type Scores = number[]

/** The parts of Lighthouse's report that are used. A failed run has no scores. */
type Result = { categories: Record<string, { score: number | null }> }

async function lighthouse({ only = [''] }: { only?: string[] }): Promise<void> {
  log('Installing Lighthouse, building the product …')
  const program = `${installTool('lighthouse')}node_modules/lighthouse/cli/index.js`
  const chromium = findChromium()
  const built = buildProduct()
  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const database = await openDatabase(
    postgres.url,
    `bench_lighthouse_${Date.now()}`,
    1_000,
    log,
  )
  const server = await startServer(built, {
    DATABASE_URL: database.url,
    SESSION_SIGNING_KEYS: newSigningKeys(),
    RATE_LIMIT: 'in-process',
    PASSWORD_SIGN_IN: 'true',
    SMTP_URL: 'smtp://127.0.0.1:9', // no page sends an email
    MAIL_FROM: 'login@example.com',
  })
  try {
    const token = (await database.newTokens(1))()
    const pages = Object.entries({
      '/': '/',
      '/sign-in': '/sign-in',
      '/forgot-password': '/forgot-password',
      '/reset-password, valid link': `/reset-password?token=${token}`,
      '/reset-password, invalid link': '/reset-password?token=x',
      '/reset-password/done': '/reset-password/done',
      '/sso/callback, no code': '/sso/callback',
      '/sso/callback, error': '/sso/callback?error=access_denied',
      '/sso/callback, rejected code': '/sso/callback?code=x',
    }).filter(([name]) => only.some((text) => name.includes(text)))
    if (pages.length === 0) throw new Error('There is no such page.')
    const scores = new Map<string, Scores[]>(pages.map(([name]) => [name, []]))
    for (let round = 1; round <= rounds; round++)
      for (const [name, path] of pages) {
        log(`Round ${round} of ${rounds}: ${name} …`)
        scores.get(name)!.push(scoresOf(program, chromium, server.url + path))
      }
    print(scores)
  } finally {
    await server.stop()
    await database.drop()
    await postgres.release()
  }
}

/**
 * Runs Lighthouse with its settings for a phone. Repeats a run without scores up to three
 * times, then returns 0.
 */
function scoresOf(program: string, chromium: string, url: string): Scores {
  for (let attempt = 0; attempt < 4; attempt++) {
    const options = [
      `--only-categories=${categories}`,
      '--output=json',
      `--output-path=${report}`,
      '--quiet',
    ]
    const flagsOfChrome =
      '--chrome-flags=--headless=new --no-sandbox --disable-gpu --disable-background-networking'
    rmSync(report, { force: true })
    spawnSync(
      process.execPath,
      [program, url, ...options, flagsOfChrome, '--no-enable-error-reporting'],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, CHROME_PATH: chromium },
      },
    )
    const result: Result = existsSync(report)
      ? JSON.parse(readFileSync(report, 'utf8'))
      : { categories: {} }
    const scores = categories.map((name) => result.categories[name]?.score ?? null)
    if (!scores.includes(null)) return scores.map((score) => Math.round(score! * 100))
    log('  no score …')
  }
  return categories.map(() => 0)
}

function print(scores: Map<string, Scores[]>): void {
  console.log(
    `| | ${categories.join(' | ')} | performance of each run |\n|---|---:|---:|---:|---|`,
  )
  for (const [name, runs] of scores) {
    const medians = categories.map((_, index) => median(runs.map((run) => run[index]!)))
    console.log(
      `| ${name} | ${medians.join(' | ')} | ${runs.map(([performance]) => performance).join(' ')} |`,
    )
  }
  console.log(`\nMedians of ${rounds} runs, Lighthouse’s settings for a phone`)
}

runCommand(
  newProgram('npm run bench:lighthouse --', 'Scores every page 8 times.')
    .option(
      '--only <name>',
      'only the pages whose names contain this; repeat it for several',
      collect,
    )
    .action(lighthouse),
)
