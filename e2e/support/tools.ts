import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { chromium } from 'playwright'

const browserNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const macBrowser = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

/**
 * The path of Chromium: CHROMIUM_PATH, the system's or Playwright's. Installs it if possible, else
 * throws with the command to install it.
 */
export function findChromium(): string {
  const found = () =>
    [process.env.CHROMIUM_PATH, ...browserNames.map(findProgram), macBrowser, chromium.executablePath()].find(
      (path) => path && existsSync(path),
    )
  if (!found()) install('chromium')
  return found() ?? missing('Chromium', 'apt-get install chromium', 'npx playwright install --with-deps chromium')
}

/**
 * The path of redis-server. Installs it if possible, else throws with the command to install it.
 */
export function findRedisServer(): string {
  if (!findProgram('redis-server')) install('redis-server')
  return findProgram('redis-server') ?? missing('redis-server', 'apt-get install redis-server', 'brew install redis')
}

// LemonLDAP::NG without the modules of the second half says only “Initialization failed”.
const lemonLdapPackages = [
  'lemonldap-ng-handler',
  'liblemonldap-ng-portal-perl',
  'starman',
  'liblasso-perl',
  'libxml-simple-perl',
  'libgd-securityimage-perl',
  'libgd-perl',
  'libimage-magick-perl',
  'libcrypt-jwt-perl',
  'libcrypt-openssl-bignum-perl',
  'libstring-random-perl',
  'libio-string-perl',
  'libemail-sender-perl',
]
const simpleSamlPackages = ['simplesamlphp', 'php-cli', 'php-xml', 'php-mbstring', 'php-sqlite3']

/** The path of Starman, which runs LemonLDAP::NG. Installs both if possible, else throws. */
export function findLemonLdap(): string {
  const files = [
    '/usr/share/lemonldap-ng/portal/templates',
    '/usr/share/perl5/Crypt/JWT.pm',
    '/usr/share/perl5/XML/Simple.pm',
  ]
  const found = () => (files.every((file) => existsSync(file)) ? findProgram('starman') : undefined)
  if (!found()) install(...lemonLdapPackages)
  return found() ?? missing('LemonLDAP::NG', debianCommand(lemonLdapPackages))
}

/** The path of PHP, which runs SimpleSAMLphp. Installs both if possible, else throws. */
export function findSimpleSamlPhp(): string {
  const found = () => (existsSync('/usr/share/simplesamlphp/www/index.php') ? findProgram('php') : undefined)
  if (!found()) install(...simpleSamlPackages)
  return found() ?? missing('SimpleSAMLphp', debianCommand(simpleSamlPackages))
}

/** The path of OpenSMTPD. Installs it if possible, else throws. */
export function findOpenSmtpd(): string {
  if (process.getuid?.() !== 0) throw new Error('OpenSMTPD starts only as root. Run: sudo npm run test:sso')
  const found = () => ['/usr/sbin/smtpd'].find((path) => existsSync(path))
  if (!found()) install('opensmtpd')
  return found() ?? missing('OpenSMTPD', debianCommand(['opensmtpd']))
}

const debianCommand = (packages: string[]) =>
  `apt-get install --no-install-recommends ${packages.join(' ')}   # Debian 12`

function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find((path) => existsSync(path))
}

const servicePolicy = '/usr/sbin/policy-rc.d'

/** Installs packages on Debian and its derivatives, as root. Starts no service. Does nothing elsewhere. */
function install(...debianPackages: string[]): void {
  if (process.getuid?.() !== 0 || !findProgram('apt-get')) return
  console.log(`Installing ${debianPackages.join(', ')} …`)
  const options = { stdio: 'pipe', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  const aptGet = (...parameters: string[]) =>
    execFileSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...parameters], options)
  const isOurPolicy = !existsSync(servicePolicy)
  if (isOurPolicy) writeFileSync(servicePolicy, '#!/bin/sh\nexit 101\n', { mode: 0o755 }) // “action not allowed”
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
