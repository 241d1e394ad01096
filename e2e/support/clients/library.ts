import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { project } from '../../../bin/dev/local'
import { type ClientValues, cutOut, type RealClient } from './recipe'

// A small dashboard with a library for OpenID Connect, whose calls are in the recipe.

type Attempt = { url: URL; state: string; codeVerifier: string }
type Tokens = {
  access_token: string
  refresh_token?: string
  id_token?: string
  expires_in?: number
}
type Claims = Record<string, unknown>
type Recipe = {
  beginSignIn: () => Promise<Attempt>
  finishSignIn: (
    url: URL,
    attempt: Attempt,
  ) => Promise<{ tokens: Tokens; claims: Claims }>
  renew: (refreshToken: string) => Promise<Tokens>
  endSessionUrl: (idToken: string) => string
}
type Session = { attempt?: Attempt; tokens?: Tokens; claims?: Claims }

const folder = `${project}e2e/results/clients/`

/** What allows plain http, which only tests need. */
const allowances: Record<string, Record<string, string>> = {
  'openid-client': {
    'process.env.CLIENT_SECRET)':
      'process.env.CLIENT_SECRET, undefined, { execute: [client.allowInsecureRequests] })',
  },
  oauth4webapi: {
    'discoveryRequest(issuer)':
      'discoveryRequest(issuer, { [oauth.allowInsecureRequests]: true })',
    'GrantRequest(...request)':
      'GrantRequest(...request, { [oauth.allowInsecureRequests]: true })',
    'refreshTokenGrantRequest(login, client, secret, refreshToken)':
      'refreshTokenGrantRequest(login, client, secret, refreshToken, { [oauth.allowInsecureRequests]: true })',
  },
}

/** Starts a dashboard with the recipe of a library. */
export async function startLibrary(
  name: 'openid-client' | 'oauth4webapi',
  { issuer, slug, secret, port, redirectUri }: ClientValues,
): Promise<RealClient> {
  mkdirSync(folder, { recursive: true })
  const file = `${folder}${slug}.js`
  const replaced = {
    'https://login.example.com': issuer,
    'https://app.example.com/callback': redirectUri,
    "'app'": `'${slug}'`,
    ...allowances[name],
    'process.env.CLIENT_SECRET': `process.env.SECRET_${port}`, // two libraries in one process
  }
  writeFileSync(file, cutOut(name, replaced))
  process.env[`SECRET_${port}`] = secret // read when the file is imported
  const recipe = (await import(file)) as Recipe

  const url = new URL('/', redirectUri).href
  const sessions = new Map<string, Session>()
  const server = createServer((request, response) => {
    handle(recipe, sessions, new URL(request.url!, url), request, response).catch(
      (error: Error) => show(response, 400, `You weren’t signed in: ${error.message}`),
    )
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))

  return {
    url,
    redirectUri,
    begin: async (browser) =>
      (await browser.get(url, { maxRedirects: 0 })).headers().location!,
    open: async (page) => {
      await page.goto(url)
    },
    signOut: (page) => page.goto(`${url}sign-out`),
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function handle(
  recipe: Recipe,
  sessions: Map<string, Session>,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = /client-session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1]
  const session = sessions.get(id ?? '') ?? {}
  if (url.pathname === '/callback') {
    Object.assign(session, await recipe.finishSignIn(url, session.attempt!))
    return redirect(response, '/')
  }
  if (url.pathname === '/sign-out') {
    const idToken = session.tokens!.id_token!
    sessions.delete(id!)
    return redirect(response, recipe.endSessionUrl(idToken))
  }
  if (url.pathname !== '/') return show(response, 404, 'Not found')

  if (session.tokens && session.tokens.expires_in! < 60)
    await renew(recipe, session, session.tokens)
  if (session.tokens) return show(response, 200, JSON.stringify(session.claims))

  session.attempt = await recipe.beginSignIn()
  const newId = id ?? randomUUID()
  sessions.set(newId, session)
  response.setHeader('Set-Cookie', `client-session=${newId}; HttpOnly; SameSite=Lax`)
  redirect(response, session.attempt.url.href)
}

/** Renews the tokens, or ends the session. */
async function renew(recipe: Recipe, session: Session, tokens: Tokens): Promise<void> {
  try {
    session.tokens = await recipe.renew(tokens.refresh_token!)
  } catch (error) {
    if ((error as { error?: string }).error !== 'invalid_grant') throw error
    delete session.tokens
  }
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { Location: location }).end()
}

function show(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text)
}
