import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { responds, startProgram } from '../servers/program'
import { clientsFolder, installClients } from './install'
import { type ClientValues, cutOut, postForm, type RealClient } from './recipe'

/** Starts the server in the recipe for Auth.js. */
export async function startAuthJs({
  issuer,
  slug,
  secret,
  port,
  redirectUri,
}: ClientValues): Promise<RealClient> {
  installClients()
  const file = `${clientsFolder}${slug}.js`
  const replaced = { 'https://login.example.com': issuer, "'app'": `'${slug}'` }
  writeFileSync(file, cutOut('auth-js', replaced))

  const { origin } = new URL(redirectUri)
  const program = await startProgram(
    [process.execPath, file],
    () => responds(`${origin}/auth/providers`),
    {
      CLIENT_SECRET: secret,
      AUTH_SECRET: randomBytes(32).toString('base64'),
      PORT: String(port),
    },
  )

  return {
    url: `${origin}/`,
    redirectUri,
    begin: async (browser) => {
      const { csrfToken } = await (await browser.get(`${origin}/auth/csrf`)).json()
      const form = { csrfToken, callbackUrl: origin }
      const options = { form, maxRedirects: 0 }
      return (await browser.post(`${origin}/auth/signin/login`, options)).headers()
        .location!
    },
    open: async (page) => {
      await page.goto(origin)
      await page.getByRole('button', { name: 'Sign in with Login' }).click()
    },
    signOut: (page) => postForm(page, '/sign-out'),
    stop: async () => {
      await program.stop()
      rmSync(file)
    },
  }
}
