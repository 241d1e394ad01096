import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { project } from '../bin/dev/local'

type Service = {
  image?: string
  build?: object
  command?: string[]
  env_file?: { path: string; required: boolean }[]
  environment?: Record<string, string>
  init?: boolean
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  network_mode?: string
  ports?: string[]
  volumes?: string[]
}

const read = (file: string) => readFileSync(`${project}deploy/${file}`, 'utf8')
const readServices = (file: string): Record<string, Service> =>
  parse(read(file), { merge: true }).services

const production = readServices('compose.yaml')
const trial = readServices('compose.trial.yaml')

/** A variable of Docker Compose, with the value that it has if it is not set. */
const variable = (name: string, fallback = '') => `\${${name}:-${fallback}}`

test('only port 443 is published, and only on loopback unless PUBLISH is set', () => {
  const publishing = [...Object.entries(production), ...Object.entries(trial)].filter(
    ([, { ports, network_mode }]) => ports || network_mode === 'host',
  )
  expect(publishing.map(([name, { ports }]) => [name, ports])).toEqual([
    ['caddy', [`${variable('PUBLISH', '127.0.0.1')}:443:443`]],
  ])
})

const ofApp = ['migrate', 'app', 'clean-up']

test('compose.yaml has no mail catcher, and sends email only with SMTP_URL', () => {
  expect(Object.keys(production)).toEqual([...ofApp, 'caddy', 'postgres'])
  expect(production.caddy!.command).toBeUndefined() // reads /etc/caddy/Caddyfile
  expect(production.caddy!.volumes).toEqual([
    './Caddyfile:/etc/caddy/Caddyfile:ro',
    './unavailable.html:/etc/caddy/unavailable.html:ro',
    'caddy:/data',
  ])
  expect(read('Caddyfile')).not.toContain('8025')
})

test('compose.trial.yaml adds the mail catcher, its site and SMTP_URL', () => {
  expect(Object.keys(trial)).toEqual(['migrate', 'app', 'caddy', 'mail'])
  for (const name of ['migrate', 'app'])
    expect(trial[name]!.environment!.SMTP_URL).toBe('smtp://localhost:1025')
  expect(trial.mail!.network_mode).toBe('service:app')

  const site = '/etc/caddy/compose.trial.Caddyfile'
  expect(trial.caddy!.volumes).toEqual([`./compose.trial.Caddyfile:${site}:ro`])
  expect(trial.caddy!.command).toContain(site)
  expect(read('compose.trial.Caddyfile')).toContain('reverse_proxy app:8025')
})

test('every image that is not built here has its full version', () => {
  const services = [...Object.values(production), ...Object.values(trial)]
  const built = services.filter(({ build }) => build).map(({ image }) => image)
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(
    ([, image]) => image,
  )
  const images = [...services.map(({ image }) => image), ...bases].filter(
    (image) => image && !built.includes(image),
  )
  expect(images).toHaveLength(5)
  for (const image of images)
    expect(image).toMatch(
      /^(postgres:\d+\.\d+|[a-z/]+:v?\d+\.\d+\.\d+(-slim)?)(@sha256:[0-9a-f]{64})?$/,
    )
})

test('the app, the migration and the clean-up read every setting from deploy/.env', () => {
  // A setting in `environment` overrides that of the file.
  const fixed = [
    'DATABASE_URL',
    'HOST', // of the container
    'PORT', // of UPSTREAMS and of the health check
    'TRUSTED_PROXIES',
  ]
  for (const name of ofApp) {
    const { env_file, environment } = production[name]!
    expect(env_file, name).toEqual([{ path: '.env', required: false }])
    for (const [setting, value] of Object.entries(environment!))
      if (!fixed.includes(setting)) expect(value).toMatch(`\${${setting}:-`)
  }
  expect(production.caddy!.env_file).toBeUndefined()
  expect(production.postgres!.env_file).toBeUndefined()
})

test('the health check of the app fails unless the database can be used', async () => {
  let status = 200
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url!)
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const [kind, program, ...parameters] = production.app!.healthcheck!.test
  expect([kind, program]).toEqual(['CMD', 'node'])
  const check = async () => {
    const given = parameters.map((text) => text.replace(':3000', `:${port}`))
    const [code] = await once(spawn(process.execPath, given), 'exit')
    return code
  }
  expect(await check()).toBe(0)
  status = 503
  expect(await check()).toBe(1)
  server.close()
  server.closeAllConnections()
  expect(await check(), 'no server').toBe(1)
  expect(paths).toEqual(['/api/health/ready', '/api/health/ready'])

  expect(production.caddy!.depends_on).toEqual({ app: { condition: 'service_healthy' } })
})

test('the clean-up runs again after a day, even if it has failed, and stops on a signal', async () => {
  const folder = mkdtempSync(`${tmpdir()}/clean-up-`)
  const log = `${folder}/log`
  // in place of Node.js and of sleep
  for (const [name, code] of Object.entries({ node: 1, sleep: 0 }))
    writeFileSync(
      `${folder}/${name}`,
      `#!/bin/sh\necho ${name} "$@" >> ${log}\n/bin/sleep 0.02\nexit ${code}\n`,
      { mode: 0o755 },
    )
  const [shell, ...parameters] = production['clean-up']!.command!
  const child = spawn(`/bin/${shell}`, parameters, {
    env: { ...process.env, PATH: folder },
  })
  const lines = () =>
    existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').slice(0, 4) : []
  const exited = once(child, 'exit')
  while (lines().length < 4) await sleep(10)

  child.kill('SIGTERM')
  expect(await exited).toEqual([null, 'SIGTERM'])
  expect(production['clean-up']!.init).toBe(true) // without it, PID 1 ignores the signal
  const round = ['node bin/clean-up.js', 'sleep 86400']
  expect(lines()).toEqual([...round, ...round])
  rmSync(folder, { recursive: true })
})

test('every setting of the app that the files name exists', () => {
  const example = readFileSync(`${project}.env.example`, 'utf8')
  const ofCompose = ['SITE', 'UPSTREAMS', 'PUBLISH', 'CONNECTION_SECRETS_KEY']
  const services = [...Object.values(production), ...Object.values(trial)]
  const named = services.flatMap(({ environment }) => Object.keys(environment ?? {}))
  for (const name of named)
    if (!ofCompose.includes(name) && !name.startsWith('POSTGRES_'))
      expect(example).toMatch(new RegExp(`^#?${name}=`, 'm'))
})
