import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { listen } from '../servers/listen'
import { startProgram, temporaryFolder } from '../servers/program'
import { type ClientValues, cutOut, type RealClient } from './recipe'

const modules = [
  'mpm_event',
  'authn_core',
  'authz_core',
  'authz_user',
  'headers',
  'proxy',
  'proxy_http',
]

/**
 * Starts Debian's Apache on a port of 127.0.0.1, with a module besides the usual ones and
 * lines of configuration.
 */
export async function runApache(
  port: number,
  module: string,
  lines: string,
  settings: Record<string, string> = {},
): Promise<{ stop: () => Promise<void> }> {
  const folder = temporaryFolder('apache')
  const loading = [...modules, module].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  const config = `${folder.path}/apache.conf`
  writeFileSync(
    config,
    `${loading.join('\n')}
ServerRoot ${folder.path}
ServerName 127.0.0.1
PidFile ${folder.path}/pid
DefaultRuntimeDir ${folder.path}
ErrorLog ${folder.path}/error.log
Listen 127.0.0.1:${port}
User www-data
Group www-data
${lines}`,
  )

  const respond = () =>
    fetch(`http://127.0.0.1:${port}`, { redirect: 'manual' }).then(
      () => true,
      () => false,
    )
  const command = ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', config]
  const program = await startProgram(command, respond, settings)

  return {
    stop: async () => {
      await program.stop()
      folder.remove()
    },
  }
}

/**
 * Starts Debian's Apache with the recipe for mod_auth_openidc, in front of an app that
 * shows the claims in the headers.
 */
export async function startApache({
  issuer,
  slug,
  secret,
  port,
  redirectUri,
  signedOutUri,
}: ClientValues): Promise<RealClient> {
  const app = await listen(
    createServer(({ headers }, response) =>
      response.end(
        JSON.stringify({ sub: headers.oidc_claim_sub, email: headers.oidc_claim_email }),
      ),
    ),
  )
  const recipe = cutOut('mod-auth-openidc', {
    'https://login.example.com': issuer,
    'https://app.example.com/oidc/callback': redirectUri,
    'OIDCClientID app': `OIDCClientID ${slug}`,
  })
  const apache = await runApache(
    port,
    'auth_openidc',
    `ProxyPass / ${app.url}/\n${recipe}`,
    { CLIENT_SECRET: secret, CRYPTO_PASSPHRASE: randomBytes(32).toString('hex') },
  )

  const { origin } = new URL(redirectUri)
  return {
    url: `${origin}/`,
    redirectUri,
    begin: async (browser) =>
      (await browser.get(origin, { maxRedirects: 0 })).headers().location!,
    open: async (page) => {
      await page.goto(origin)
    },
    signOut: (page) =>
      page.goto(`${redirectUri}?logout=${encodeURIComponent(signedOutUri)}`),
    stop: async () => {
      await apache.stop()
      await app.stop()
    },
  }
}
