import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
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
      .replace('root * /etc/caddy', `root * ${project}deploy`)
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
  chmodSync(folder.path, 0o755) // because the workers of nginx do not run as root
  copyFileSync(`${project}deploy/unavailable.html`, `${folder.path}/unavailable.html`)
  const { key, certificate } = makeCertificate(folder.path)
  const site = [
    ['/etc/letsencrypt/live/login.example.com/fullchain.pem', certificate],
    ['/etc/letsencrypt/live/login.example.com/privkey.pem', key],
    ['listen 80;', `listen 127.0.0.1:${httpPort};`],
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['127.0.0.1:3000', `127.0.0.1:${upstreams[0]}`],
    ['127.0.0.1:3001', `127.0.0.1:${upstreams[1]}`],
    ['/var/log/nginx', folder.path],
    ['/etc/nginx/login', folder.path],
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

/** Makes a certificate for localhost. Returns its files. `both` has the key too. */
export function makeCertificate(folder: string) {
  const files = {
    key: `${folder}/key.pem`,
    certificate: `${folder}/certificate.pem`,
    both: `${folder}/both.pem`,
  }
  const request = ['req', '-x509', '-newkey', 'ec', '-nodes', '-days', '2']
  const curve = ['-pkeyopt', 'ec_paramgen_curve:P-256', '-subj', '/CN=localhost']
  const output = ['-keyout', files.key, '-out', files.certificate]
  execFileSync('openssl', [...request, ...curve, ...output], { stdio: 'pipe' })
  const parts = [files.certificate, files.key].map((file) => readFileSync(file, 'utf8'))
  writeFileSync(files.both, parts.join(''))

  return files
}

type Replacements = [from: string, to: string][]

/** Returns a file of deploy/ with other addresses, paths and names. */
function adapt(file: string, replacements: Replacements): string {
  return replacements.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/${file} lacks ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(`${project}deploy/${file}`, 'utf8'),
  )
}

const replaceUpstreams = ([first, second]: number[]): Replacements => [
  ['127.0.0.1:3000', `127.0.0.1:${first}`],
  ['127.0.0.1:3001', `127.0.0.1:${second}`],
]

/**
 * Starts Debian's HAProxy with deploy/haproxy.cfg. Changes only the addresses and the
 * certificate.
 */
export async function startHaproxy(
  port: number,
  httpPort: number,
  upstreams: number[],
): Promise<ReverseProxy> {
  const folder = temporaryFolder('haproxy')
  const file = `${folder.path}/haproxy.cfg`
  const config = adapt('haproxy.cfg', [
    ...listenAt(port, httpPort, makeCertificate(folder.path).both),
    ...replaceUpstreams(upstreams),
  ])
  writeFileSync(file, config)
  const command = ['/usr/sbin/haproxy', '-db', '-f', file]

  return start('HAProxy', command, [port, httpPort], folder)
}

const listenAt = (port: number, httpPort: number, certificate: string): Replacements => [
  ['bind :80', `bind 127.0.0.1:${httpPort}`],
  ['bind :443', `bind 127.0.0.1:${port}`],
  ['/etc/haproxy/login.pem', certificate],
]

/**
 * Starts Debian's Varnish with deploy/varnish.vcl and the parameters in its comment, behind
 * HAProxy with deploy/varnish.haproxy.cfg. Changes only the addresses and the certificate.
 */
export async function startVarnish(
  port: number,
  httpPort: number,
  varnishPort: number,
  upstreams: number[],
): Promise<ReverseProxy> {
  const folder = temporaryFolder('varnish')
  chmodSync(folder.path, 0o755) // because Varnish does not run as root
  const files = { vcl: `${folder.path}/login.vcl`, front: `${folder.path}/haproxy.cfg` }
  const vcl = adapt('varnish.vcl', [
    ['.port = "3000"', `.port = "${upstreams[0]}"`],
    ['.port = "3001"', `.port = "${upstreams[1]}"`],
    ['127.0.0.1:6081', `127.0.0.1:${varnishPort}`],
    ['/etc/varnish/login.vcl', files.vcl],
  ])
  writeFileSync(files.vcl, vcl)
  const front = adapt('varnish.haproxy.cfg', [
    ...listenAt(port, httpPort, makeCertificate(folder.path).both),
    ['127.0.0.1:6081', `127.0.0.1:${varnishPort}`],
  ])
  writeFileSync(files.front, front)

  const documented = /^# {3}varnishd (.*\n(?:# {5}.*\n)*)/m.exec(vcl)![1]!
  const parameters = documented.replaceAll('#', '').trim().split(/\s+/)
  const ownFolder = ['-n', `${folder.path}/work`]
  const varnish = await startProgram(
    ['/usr/sbin/varnishd', '-F', ...ownFolder, ...parameters],
    () => accepts(varnishPort),
  )
  const command = ['/usr/sbin/haproxy', '-db', '-f', files.front]
  const proxy = await start('Varnish', command, [port, httpPort], folder)

  return {
    ...proxy,
    output: () => proxy.output() + varnish.output(),
    stop: async () => {
      await varnish.stop()
      await proxy.stop()
    },
  }
}

const apacheModules = [
  ['mpm_event', 'authz_core', 'alias', 'headers', 'socache_shmcb', 'ssl', 'slotmem_shm'],
  ['proxy', 'proxy_http', 'proxy_balancer', 'proxy_hcheck', 'lbmethod_byrequests'],
  ['rewrite'],
].flat()

/**
 * Starts Debian's Apache with deploy/apache.conf. Changes only the host, the addresses, the
 * certificate and the folder of the logs. As on Debian, Apache writes an access log with
 * URLs for a site without a log.
 */
export async function startApache(
  port: number,
  httpPort: number,
  upstreams: number[],
): Promise<ReverseProxy> {
  const folder = temporaryFolder('apache')
  const { key, certificate } = makeCertificate(folder.path)
  const site = adapt('apache.conf', [
    ['/etc/letsencrypt/live/login.example.com/fullchain.pem', certificate],
    ['/etc/letsencrypt/live/login.example.com/privkey.pem', key],
    ['*:80>', `127.0.0.1:${httpPort}>`],
    ['*:443>', `127.0.0.1:${port}>`],
    ['/var/log/apache2', folder.path],
    ['login.example.com', 'localhost'],
    ...replaceUpstreams(upstreams),
  ])
  const config = `${folder.path}/apache.conf`
  const loading = apacheModules.map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  writeFileSync(
    config,
    `${loading.join('\n')}
ServerRoot ${folder.path}
ServerName localhost
PidFile ${folder.path}/pid
DefaultRuntimeDir ${folder.path}
ErrorLog ${folder.path}/error.log
CustomLog ${folder.path}/other-vhosts.log "%r"
Listen 127.0.0.1:${httpPort}
Listen 127.0.0.1:${port}
User www-data
Group www-data
${site}`,
  )
  const command = ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', config]

  return start('Apache', command, [port, httpPort], folder)
}

/** Returns whether a program accepts connections at a port. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () =>
      resolve(false),
    )
    socket.on('connect', () => socket.destroy())
  })
}

async function start(
  name: string,
  command: string[],
  [port, httpPort]: [number, number],
  folder: ReturnType<typeof temporaryFolder>,
  settings?: Record<string, string>,
): Promise<ReverseProxy> {
  const program = await startProgram(command, () => accepts(port), settings)
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
