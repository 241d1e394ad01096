import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { project } from '../../../bin/dev/local'
import { startProgram, temporaryFolder } from './program'

export type ReverseProxy = {
  name: string
  url: string
  httpUrl: string
  /** Returns what the proxy printed and wrote to its log files. */
  output: () => string
  stop: () => Promise<void>
}

const localhost = /(^|\s)login\.example\.com(?=[\s;])/g

/**
 * Starts Debian's Caddy with deploy/Caddyfile in front of processes of the app, at
 * https://localhost. Changes only the site, the addresses, the source of the certificates
 * and, optionally, how long it tries to reach a process.
 */
export async function startCaddy(
  port: number,
  httpPort: number,
  adminPort: number,
  upstreams: number[],
  tryDuration = '5s',
): Promise<ReverseProxy> {
  const folder = temporaryFolder('caddy')
  const config = `${folder.path}/Caddyfile`
  const options = `{\n\tskip_install_trust\n\thttp_port ${httpPort}\n\tadmin localhost:${adminPort}\n`
  writeFileSync(
    config,
    readFileSync(`${project}deploy/Caddyfile`, 'utf8')
      .replace(/^\{\n/m, options)
      .replace('lb_try_duration 5s', `lb_try_duration ${tryDuration}`),
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
    [port, httpPort],
    folder,
    settings,
  )
}

/**
 * Starts Debian's nginx with deploy/nginx.conf in front of processes of the app, at
 * https://localhost. Changes only the host, the addresses, the certificate and the folder
 * of the logs. As on Debian, nginx writes an access log unless a site turns it off.
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
    ['/var/log/nginx', folder.path],
  ].reduce(
    (text, [from, to]) => text.replaceAll(from!, to!),
    readFileSync(`${project}deploy/nginx.conf`, 'utf8'),
  )
  const config = `${folder.path}/nginx.conf`
  writeFileSync(
    config,
    `daemon off;
pid ${folder.path}/pid;
error_log stderr;
events {}
http {
access_log ${folder.path}/access.log;
${site.replaceAll(localhost, ' localhost')}
}
`,
  )
  return start('nginx', ['/usr/sbin/nginx', '-c', config], [port, httpPort], folder)
}

async function start(
  name: string,
  command: string[],
  [port, httpPort]: [number, number],
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
  const output = () => {
    const logs = readdirSync(folder.path).filter((file) => file.endsWith('.log'))
    const contents = logs.map((file) => readFileSync(`${folder.path}/${file}`, 'utf8'))
    return program.output() + contents.join('')
  }
  const stop = async () => {
    await program.stop()
    folder.remove()
  }
  return {
    name,
    url: `https://localhost:${port}`,
    httpUrl: `http://localhost:${httpPort}`,
    output,
    stop,
  }
}
