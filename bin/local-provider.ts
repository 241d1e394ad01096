import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'

type Options = { redirectUris: string[]; people: { id: string; name: string; email: string }[] }

export type LocalProvider = Awaited<ReturnType<typeof startLocalProvider>>

/** Starts an OpenID provider that asks for no password. Its host differs from the app's: another site for browsers. */
export async function startLocalProvider({ redirectUris, people }: Options) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['local-app', randomBytes(32).toString('base64url')]

  const configuration: Configuration = {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
    // Browsers do not send the cookie of the session back, so every sign-in asks who it is.
    cookies: { keys: [randomBytes(32).toString('base64url')], long: { path: '/never' } },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { Session: 1200, Interaction: 1200, Grant: 1200, AuthorizationCode: 60, AccessToken: 600, IdToken: 600 },
    findAccount: async (_context, id) => {
      const person = people.find((each) => each.id === id)
      return person && { accountId: id, claims: async () => ({ ...person, sub: id, email_verified: true }) }
    },
    // does not ask for consent
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  }
  const { warn } = console
  console.warn = () => {} // it warns about Node.js 20, which works, and about missing storage
  const { Provider } = await import('oidc-provider')
  const provider = new Provider(issuer, configuration)
  console.warn = warn
  const respond = provider.callback()
  server.on('request', (request, response) => {
    const choice = /^\/interaction\/[\w-]+(?:\/([\w-]+))?$/.exec(request.url ?? '')
    if (!choice) return respond(request, response)
    finish(request, response, choice[1]).catch((error: Error) => response.writeHead(400).end(error.message))
  })

  async function finish(request: IncomingMessage, response: ServerResponse, chosen?: string): Promise<void> {
    if (chosen === 'cancel') return provider.interactionFinished(request, response, { error: 'access_denied' })
    if (chosen) return provider.interactionFinished(request, response, { login: { accountId: chosen } })
    await provider.interactionDetails(request, response) // throws if there is no such sign-in
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(page(request.url!, people))
  }

  async function stop(): Promise<void> {
    server.close()
    server.closeAllConnections()
  }
  return { issuer, clientId, clientSecret, stop }
}

function page(path: string, people: Options['people']): string {
  const links = people.map(({ id, name, email }) => `<li><a href="${path}/${id}">${name}</a> (${email})</li>`)
  return `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Local identity provider</title>
<style>:root{color-scheme:light dark}body{max-width:28rem;margin:15vh auto;padding:0 1rem;font:1rem/1.5 system-ui}</style>
<h1>Local identity provider</h1><p>It stands in for the one of an organization. Who are you?</p>
<ul>${links.join('')}</ul><p><a href="${path}/cancel">Cancel</a></p></html>
`
}
