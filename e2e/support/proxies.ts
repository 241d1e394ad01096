import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { project } from '../../bin/local'
import { startProgram, temporaryFolder } from './program'

export type ReverseProxy = { name: string; url: string; stop: () => Promise<void> }

const localhost = /(^|\s)login\.example\.com(?=[\s;])/g

/**
 * Starts Debian's Caddy with deploy/Caddyfile in front of processes of the app, at
 * https://localhost. Changes only the site, the addresses and the source of the
 * certificates.
 */
export async function startCaddy(
  port: number,
  httpPort: number,
  adminPort: number,
  upstreams: number[],
): Promise<ReverseProxy> {
  const folder = temporaryFolder('caddy')
  const config = `${folder.path}/Caddyfile`
  const options = `{\n\tskip_install_trust\n\thttp_port ${httpPort}\n\tadmin localhost:${adminPort}\n`
  writeFileSync(
    config,
    readFileSync(`${project}deploy/Caddyfile`, 'utf8').replace(/^\{\n/m, options),
  )
  const settings = {
    SITE: `https://localhost:${port}`,
    UPSTREAMS: upstreams.map((upstream) => `127.0.0.1:${upstream}`).join(' '),
    XDG_DATA_HOME: folder.path,
    XDG_CONFIG_HOME: folder.path,
  }
  return start(
    'Caddy',
    ['caddy', 'run', '--config', config, '--adapter', 'caddyfile'],
    port,
    folder,
    settings,
  )
}

/**
 * Starts Debian's nginx with deploy/nginx.conf in front of processes of the app, at
 * https://localhost. Changes only the host, the addresses and the certificate.
 */
export async function startNginx(
  port: number,
  httpPort: number,
  upstreams: number[],
): Promise<ReverseProxy> {
  const folder = temporaryFolder('nginx')
  const [key, certificate] = [`${folder.path}/key.pem`, `${folder.path}/certificate.pem`]
  const request = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  execFileSync(
    'openssl',
    [...request, '-subj', '/CN=localhost', '-keyout', key, '-out', certificate],
    {
      stdio: 'pipe',
    },
  )
  const site = [
    ['/etc/letsencrypt/live/login.example.com/fullchain.pem', certificate],
    ['/etc/letsencrypt/live/login.example.com/privkey.pem', key],
    ['listen 80;', `listen 127.0.0.1:${httpPort};`],
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['127.0.0.1:3000', `127.0.0.1:${upstreams[0]}`],
    ['127.0.0.1:3001', `127.0.0.1:${upstreams[1]}`],
  ].reduce(
    (text, [from, to]) => text.replace(from!, to!),
    readFileSync(`${project}deploy/nginx.conf`, 'utf8'),
  )
  const config = `${folder.path}/nginx.conf`
  writeFileSync(
    config,
    `daemon off;\npid ${folder.path}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${site.replaceAll(localhost, ' localhost')}\n}\n`,
  )
  return start('nginx', ['/usr/sbin/nginx', '-c', config], port, folder)
}

async function start(
  name: string,
  command: string[],
  port: number,
  folder: ReturnType<typeof temporaryFolder>,
  settings?: Record<string, string>,
): Promise<ReverseProxy> {
  const accepts = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () =>
        resolve(false),
      )
      socket.on('connect', () => socket.destroy())
    })
  const program = await startProgram(command, accepts, settings)
  const stop = async () => {
    await program.stop()
    folder.remove()
  }
  return { name, url: `https://localhost:${port}`, stop }
}
