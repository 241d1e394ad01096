import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { chromium } from 'playwright'

// The shell is first, because it takes half the CPU time of a browser with windows.
const browsers = {
  shell: ['chromium-headless-shell'],
  full: [
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    chromium.executablePath(),
  ],
}

/**
 * Returns the path of Chromium: CHROMIUM_PATH, or a program of the system or of
 * Playwright. CHROMIUM selects the kind, `full` or `shell`. If the program is missing,
 * installs it or throws an error with the command to install it.
 */
export function findChromium(): string {
  const { CHROMIUM_PATH, CHROMIUM } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const isKnown = !CHROMIUM || Object.hasOwn(browsers, CHROMIUM)
  if (!isKnown) throw new Error('CHROMIUM must be full or shell.')

  const wanted = CHROMIUM
    ? browsers[CHROMIUM as keyof typeof browsers]
    : [...browsers.shell, ...browsers.full]
  const find = () => wanted.map(findProgram).find(Boolean)
  const found = find()
  if (found) return found

  const debianPackage = wanted[0]!
  install(debianPackage)
  const command =
    CHROMIUM === 'shell' ? [] : ['npx playwright install --with-deps chromium']
  return find() ?? missing('Chromium', `apt-get install ${debianPackage}`, ...command)
}

/**
 * Returns the path of redis-server. If it is missing, installs it or throws an error that
 * names the command.
 */
export function findRedisServer(): string {
  if (!findProgram('redis-server')) install('redis-server')
  return (
    findProgram('redis-server') ??
    missing('redis-server', 'apt-get install redis-server', 'brew install redis')
  )
}

/** Returns the paths of the browsers of Debian, of a driver, and of a display. */
export function findBrowserPrograms() {
  const packages = ['firefox-esr', 'webkit2gtk-driver', 'xvfb']
  if (!areInstalled(packages)) install(...packages)
  const find = (...names: string[]) =>
    names.map(findProgram).find(Boolean) ??
    missing(names[0]!, `apt-get install ${packages.join(' ')}`)

  const miniBrowser = (version: string) =>
    `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/webkit2gtk-${version}/MiniBrowser`

  return {
    firefox: find('firefox-esr', 'firefox'),
    webKitDriver: find('WebKitWebDriver'),
    miniBrowser: find(...['4.1', '4.0'].map(miniBrowser)),
    xvfb: find('Xvfb'),
  }
}

const providerPackages = [
  ...['opensmtpd', 'caddy', 'nginx', 'pgbouncer', 'pgpool2'],
  ...['rspamd', 'spamassassin', 'lynx', 'w3m', 'elinks', 'html2text'],
  ...['simplesamlphp', 'php-cli', 'php-xml', 'php-mbstring', 'php-sqlite3'],
  ...['lemonldap-ng-handler', 'liblemonldap-ng-portal-perl', 'starman'],
  // without these, LemonLDAP::NG prints only “Initialization failed”
  ...[
    'liblasso-perl',
    'libxml-simple-perl',
    'libgd-securityimage-perl',
    'libgd-perl',
    'libimage-magick-perl',
  ],
  ...[
    'libcrypt-jwt-perl',
    'libcrypt-openssl-bignum-perl',
    'libstring-random-perl',
    'libio-string-perl',
  ],
  'libemail-sender-perl',
  'libapache2-mod-auth-openidc', // with apache2-bin
  ...[
    'python3-jwt',
    'python3-cryptography',
    'ruby-jwt',
    'haproxy',
    'libapache2-mod-oauth2',
  ],
  ...['python3-authlib', 'python3-flask', 'python3-requests'],
  ...['python3-django', 'python3-social-django', 'python3-jose'],
  ...['ruby-omniauth-openid-connect', 'ruby-rack', 'ruby-webrick'],
  ...['prometheus', 'jq'],
  ...['golang-go', 'golang-github-coreos-go-oidc-dev'],
  'systemd', // for systemd-analyze
  ...['apache2-bin', 'varnish'],
  ...['libidn12', 'libgnutls-dane0'], // of Exim
]

/**
 * Installs the programs for the tests in e2e/providers if possible, otherwise throws an
 * error with the command to install them.
 */
export function installProviders(): void {
  if (!areInstalled(providerPackages)) install(...providerPackages)
  if (!areInstalled(providerPackages))
    missing(
      'packages of Debian 12',
      `apt-get install --no-install-recommends ${providerPackages.join(' ')}`,
    )
  findExim()
}

const eximFolder = `${tmpdir()}/exim-of-debian`

/**
 * Returns the path of Exim. Unpacks Debian's package instead of installing it, because it
 * conflicts with OpenSMTPD, and adds the user that it needs. Needs root.
 */
export function findExim(): string {
  const path = `${eximFolder}/usr/sbin/exim4`
  if (existsSync(path)) return path

  mkdirSync(eximFolder, { recursive: true })
  const options = {
    cwd: eximFolder,
    stdio: ['ignore', 'ignore', 'pipe'],
  } satisfies ExecFileSyncOptions
  execFileSync('apt-get', ['download', 'exim4-daemon-light'], options)
  const [archive] = readdirSync(eximFolder).filter((name) => name.endsWith('.deb'))
  execFileSync('dpkg-deb', ['-x', archive!, '.'], options)
  try {
    execFileSync('id', ['Debian-exim'], options)
  } catch {
    execFileSync('useradd', ['--system', '--no-create-home', 'Debian-exim'], options)
  }

  return path
}

function areInstalled(debianPackages: string[]): boolean {
  try {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a format of dpkg-query
    const query = ['--show', '--showformat', '${db:Status-Status}\n', ...debianPackages]
    const states = execFileSync('dpkg-query', query, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return states
      .trim()
      .split('\n')
      .every((state) => state === 'installed')
  } catch {
    return false // a package is unknown, or this is not Debian
  }
}

/** Returns the path of a program, given its name or its absolute path. */
function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(':')
  const paths = name.startsWith('/')
    ? [name]
    : folders.map((folder) => `${folder}/${name}`)
  return paths.find((path) => existsSync(path))
}

const servicePolicy = '/usr/sbin/policy-rc.d'

/**
 * Installs packages on Debian and its derivatives, as root. Starts no service. Does
 * nothing elsewhere.
 */
function install(...debianPackages: string[]): void {
  if (process.getuid?.() !== 0 || !findProgram('apt-get')) return
  console.log(`Installing ${debianPackages.join(', ')} …`)
  const options = {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  } satisfies ExecFileSyncOptions
  const aptGet = (...parameters: string[]) =>
    execFileSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...parameters], options)
  const isOurPolicy = !existsSync(servicePolicy)
  if (isOurPolicy) writeFileSync(servicePolicy, '#!/bin/sh\nexit 101\n', { mode: 0o755 }) // 101 means “action not allowed”
  try {
    aptGet('update')
    aptGet('install', '-y', '--no-install-recommends', ...debianPackages)
  } finally {
    if (isOurPolicy) rmSync(servicePolicy)
  }
}

function missing(what: string, ...commands: string[]): never {
  throw new Error(
    `The tests need ${what}. Install it with one of:\n${commands.map((command) => `  ${command}`).join('\n')}`,
  )
}
