import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { project } from '../bin/dev/local'

type Service = {
  image?: string
  build?: object
  command?: string[]
  environment?: Record<string, string>
  network_mode?: string
  ports?: string[]
  volumes?: string[]
}

const read = (file: string) => readFileSync(`${project}deploy/${file}`, 'utf8')
const readServices = (file: string): Record<string, Service> => parse(read(file)).services

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

test('compose.yaml has no mail catcher, and sends email only with SMTP_URL', () => {
  expect(Object.keys(production)).toEqual(['migrate', 'app', 'caddy', 'postgres'])
  for (const name of ['migrate', 'app'])
    expect(production[name]!.environment).toMatchObject({
      SMTP_URL: variable('SMTP_URL'),
      MAIL_FROM: variable('MAIL_FROM'),
    })
  expect(production.caddy!.command).toBeUndefined() // reads /etc/caddy/Caddyfile
  expect(production.caddy!.volumes).toEqual([
    './Caddyfile:/etc/caddy/Caddyfile:ro',
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
