import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { project } from './local'
import { firstFreePort } from './ports'

const slug = 'demo'

/**
 * A link for the developer, with a description. A path instead of a URL is a page of the
 * app.
 */
export type Link = [name: string, url: string, note: string]

/** Returns a line with a link and its description. `origin` completes a path. */
export function formatLink([name, url, note]: Link, origin: string): string {
  return `  ${name.padEnd(18)} ${new URL(url, origin)}  ${note}`
}

/**
 * Starts the example dashboard unless DASHBOARD_URL is set, as the OpenID client `demo`.
 * Its host differs from the app's, so it is cross-site.
 */
export async function startDashboard(loginPort: number): Promise<Link[]> {
  if (process.env.DASHBOARD_URL) return []

  const port = await firstFreePort(loginPort === 4000 ? 4001 : 4000)
  const url = `http://127.0.0.1:${port}`
  process.env.DASHBOARD_URL = url
  const secret = await replaceClient(`${url}/callback`)

  // CHECK_SECONDS=0, so that a sign-out has an effect at once
  const settings = { CLIENT_ID: slug, CLIENT_SECRET: secret, CHECK_SECONDS: '0' }
  startServer('dashboard', port, settings)

  const issuer = process.env.PUBLIC_URL!

  return [
    ['Dashboard', url, 'on another site, which sends its users here'],
    [
      'OpenID Connect',
      `${issuer}/.well-known/openid-configuration`,
      `for a client library: issuer ${issuer}, client ID ${slug}, client secret ${secret}. ` +
        'For another one: npm run clients -- add app --redirect http://127.0.0.1:5173/callback',
    ],
  ]
}

/** Registers the example as an OpenID client, and returns its new secret. */
async function replaceClient(redirectUri: string): Promise<string> {
  const { addClient, listClients, removeClient } = await import('../../lib/client/manage')
  for (const client of await listClients(slug)) await removeClient(client)

  const secret = await addClient({
    slug,
    isPublic: false,
    redirectUris: [redirectUri],
    postLogoutRedirectUris: [],
    backchannelLogoutUri: null,
    tokenMinutes: null,
  })

  return secret!
}

/**
 * Starts the example widget, and serves a customer's page with the widget from two
 * origins. Only one is approved.
 */
export async function startWidget(): Promise<Link[]> {
  const { addWidget, listWidgets, removeWidget } = await import('../../lib/widget/manage')
  const [port, pagePort] = [await firstFreePort(4_200), await firstFreePort(4_210)]
  const approved = `http://127.0.0.1:${pagePort}`
  startServer('widget', port, { HOST: '127.0.0.1' })
  for (const widget of await listWidgets(slug)) await removeWidget(widget)
  const token = await addWidget(slug, 'The example', [approved])
  const page = `<!doctype html><meta charset="utf-8"><title>A customer</title>
<h1>A page of a customer</h1><p>The widget:</p>
<script src="http://127.0.0.1:${port}/widget.js" data-login="${process.env.PUBLIC_URL}" data-token="${token}" async></script>`
  const server = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end(page),
  )
  await once(server.listen(pagePort, '127.0.0.1'), 'listening')

  return [
    ['Widget', approved, 'on a page of a customer'],
    [
      'Rejected widget',
      `http://localhost:${pagePort}`,
      'on an origin that is not approved',
    ],
  ]
}

/** Starts the server of an example, which runs until this process exits. */
function startServer(
  example: string,
  port: number,
  settings: Record<string, string>,
): void {
  const server = spawn(process.execPath, [`${project}examples/${example}/server.js`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      LOGIN_URL: process.env.PUBLIC_URL,
      ...settings,
    },
  })

  process.once('exit', () => server.kill())
}
