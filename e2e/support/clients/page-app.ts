import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Page } from 'playwright/test'
import { clientsFolder, installClients } from './install'
import { type ClientValues, cutOut, type RealClient } from './recipe'

const modules = {
  'oidc-client-ts': 'oidc-client-ts/dist/esm/oidc-client-ts.js',
  'jwt-decode': 'jwt-decode/build/esm/index.js',
}

/** A page of the app. Its script shows the claims, or why the sign-in failed. */
const page = `<!doctype html><title>App</title><body>
<script type="importmap">${JSON.stringify({
  imports: Object.fromEntries(Object.keys(modules).map((name) => [name, `/${name}`])),
})}</script>
<script type="module">
  import { finishSignIn, requireUser, signOut } from '/recipe'
  const show = (text) => document.body.append(text)
  window.signOut = signOut
  if (location.pathname === '/callback')
    finishSignIn().then(() => location.replace('/'), (error) => show(error.message))
  else if (location.pathname === '/')
    requireUser().then((user) => user && show(JSON.stringify(user.profile)))
</script>`

/** Serves an app without a server of its own, with the recipe for oidc-client-ts. */
export async function startPageApp(values: ClientValues): Promise<RealClient> {
  const { issuer, slug, port, redirectUri, signedOutUri } = values
  const url = new URL('/', redirectUri).href

  installClients()
  const recipe = cutOut('oidc-client-ts', {
    'https://login.example.com': issuer,
    'https://app.example.com/callback': redirectUri,
    'https://app.example.com/signed-out': signedOutUri,
    "'app'": `'${slug}'`,
  })
  const scripts: Record<string, string> = { '/recipe': recipe }
  for (const [name, file] of Object.entries(modules))
    scripts[`/${name}`] = readFileSync(`${clientsFolder}node_modules/${file}`, 'utf8')

  const server = createServer((request, response) => {
    const script = scripts[request.url!]
    const type = script ? 'text/javascript' : 'text/html'
    response.writeHead(200, { 'Content-Type': `${type}; charset=utf-8` })
    response.end(script ?? page)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))

  return {
    url,
    redirectUri,
    begin: async (_, tab) => catchRequest(await tab.context().newPage(), url, issuer),
    open: (tab) => tab.goto(url).then(() => {}),
    signOut: async (tab) => {
      const navigated = tab.waitForEvent('framenavigated')
      await tab.evaluate('void signOut()')
      await navigated
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Opens the app in another tab, and returns the authorization request that it begins. */
async function catchRequest(tab: Page, url: string, issuer: string): Promise<string> {
  await tab.route(`${issuer}/api/auth/authorize?*`, (route) => route.abort())
  const request = tab.waitForRequest(`${issuer}/api/auth/authorize?*`)
  await tab.goto(url)
  const begun = (await request).url()
  await tab.close()

  return begun
}
