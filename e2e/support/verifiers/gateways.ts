import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http'
import { json } from 'node:stream/consumers'
import { project } from '../../../bin/dev/local'
import { runApache } from '../clients/apache'
import { cutOut } from '../clients/recipe'
import { listen } from '../servers/listen'
import { startProgram, temporaryFolder } from '../servers/program'
import { freePort } from '../servers/server'
import type { Verifier } from './languages'
import type { Issuer } from './session-jwts'

/** A gateway in front of a program that responds with the headers of the request. */
export type Gateway = Verifier & {
  /**
   * Sends names and values of headers as they are. Returns the headers that the program
   * got, or null after 401.
   */
  send: (...headers: string[]) => Promise<IncomingHttpHeaders | null>
}

/** Starts Debian's HAProxy with the recipe, and key files from `npm run keys -- pem`. */
export async function startHaproxy(issuer: Issuer): Promise<Gateway> {
  const app = await startApp()
  const port = await freePort()
  const folder = temporaryFolder('haproxy')
  const keyFolder = `${folder.path}/keys/`
  mkdirSync(keyFolder)
  const command = cutOut('session-key-files', {
    'npm run --silent keys --': `${process.execPath} --import tsx bin/keys.ts`,
    '/etc/haproxy/session-keys/': keyFolder,
  })
  const env = { ...process.env, SESSION_SIGNING_KEYS: issuer.json }
  execFileSync('sh', ['-c', command], { cwd: project, env, stdio: 'pipe' })

  const recipe = cutOut('verify-haproxy', {
    ':443 ssl crt /etc/haproxy/api.example.com.pem': `127.0.0.1:${port}`,
    '/etc/haproxy/session-keys/': keyFolder,
    'https://login.example.com': issuer.url,
  })
  const kids = issuer.keys.published.map(({ kid }) => kid)
  const withKeys = recipe.replace(/^.*KID.*\n/m, (line) =>
    kids.map((kid) => line.replaceAll('KID', kid)).join(''),
  )
  const config = `${folder.path}/haproxy.cfg`
  writeFileSync(
    config,
    `defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
${withKeys}
backend api
  server api ${new URL(app.url).host}
`,
  )

  const gateway = newGateway(`http://127.0.0.1:${port}/`, 'x-user-id')
  const isReady = () =>
    gateway.send('Host', 'x').then(
      () => true,
      () => false,
    )
  const program = await startProgram(
    ['/usr/sbin/haproxy', '-db', '-f', config], // -db: in the foreground
    isReady,
  )

  return {
    ...gateway,
    stop: async () => {
      await program.stop()
      await app.stop()
      folder.remove()
    },
  }
}

/** Starts Debian's Apache with the recipe for mod_oauth2, with other texts in it. */
export async function startApacheGateway(
  issuer: string,
  otherTexts: Record<string, string> = {},
): Promise<Gateway> {
  const app = await startApp()
  const port = await freePort()
  const recipe = cutOut('verify-apache', {
    'https://login.example.com': issuer,
    'http://127.0.0.1:8000': app.url,
    ...otherTexts,
  })
  const apache = await runApache(port, 'oauth2', recipe)

  return {
    ...newGateway(`http://127.0.0.1:${port}/reports/`, 'oauth2_claim_sub'),
    stop: async () => {
      await apache.stop()
      await app.stop()
    },
  }
}

const startApp = () =>
  listen(createServer(({ headers }, response) => response.end(JSON.stringify(headers))))

/** `userHeader` is the header that has `sub`. */
function newGateway(url: string, userHeader: string): Omit<Gateway, 'stop'> {
  const send: Gateway['send'] = async (...headers) => {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      request(url, { headers, agent: false }, resolve).on('error', reject).end(),
    )
    if (response.statusCode === 401) return null
    if (response.statusCode !== 200)
      throw new Error(`${url} responded with ${response.statusCode}`)

    return (await json(response)) as IncomingHttpHeaders
  }

  return {
    send,
    verify: async (token) => {
      const headers = await send('Host', 'x', 'Authorization', `Bearer ${token}`)
      return headers && String(headers[userHeader])
    },
  }
}
