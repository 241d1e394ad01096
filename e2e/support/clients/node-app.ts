import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import type { APIRequestContext } from 'playwright/test'
import { startProgram } from '../servers/program'
import { clientsFolder, installClients } from './install'
import { type ClientValues, cutOut, postForm, type RealClient } from './recipe'

/** Begins a sign-in as a browser does, and returns the authorization request. */
type Begin = (browser: APIRequestContext, origin: string) => Promise<string>

const openSignIn: Begin = async (browser, origin) =>
  (await browser.get(`${origin}/sign-in`, { maxRedirects: 0 })).headers().location!

/**
 * Starts the server in a recipe of docs/clients.md, which shows the claims at `/` and signs
 * out with a POST of `/sign-out`.
 */
export function startNodeApp(recipe: string, begin = openSignIn) {
  return async (values: ClientValues): Promise<RealClient> => {
    const { issuer, slug, secret, port, redirectUri } = values
    const { origin } = new URL(redirectUri)

    installClients()
    const file = `${clientsFolder}${slug}.js`
    const replaced = {
      'https://login.example.com': issuer,
      'https://app.example.com': origin,
      "'app'": `'${slug}'`,
    }
    writeFileSync(file, cutOut(recipe, replaced))

    const program = await startProgram([process.execPath, file], () => responds(origin), {
      CLIENT_SECRET: secret,
      SESSION_SECRET: randomBytes(32).toString('hex'),
      PORT: String(port),
    })

    return {
      url: `${origin}/`,
      redirectUri,
      begin: (browser) => begin(browser, origin),
      open: async (page) => {
        await page.goto(origin)
      },
      signOut: (page) => postForm(page, '/sign-out'),
      stop: async () => {
        await program.stop()
        rmSync(file)
      },
    }
  }
}

/** Whether a server responds, whatever it responds. */
const responds = (origin: string) =>
  fetch(origin, { redirect: 'manual' }).then(
    () => true,
    () => false,
  )
