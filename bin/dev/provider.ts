import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Account, ClientMetadata, Configuration, Provider } from 'oidc-provider'
import { escapeHtml } from '../../lib/brand/escape-html'
import { rejectForeignHost } from './foreign-host'
import { listChoices, localPage } from './page'
import type { OwnPage, ProviderValues } from './sign-in-pages'

type Person = { id: string; name: string; email: string }
type Pages = Record<string, OwnPage>
/** `pages` are further pages, by path. */
type Options = {
  redirectUris: string[]
  people: Person[]
  port?: number
  pages?: Pages
}

export type LocalProvider = Awaited<ReturnType<typeof startLocalProvider>>

const slowMs = 8_000 // longer than the app waits
const failures = [
  ['access_denied', 'Cancel', 'the user refuses'],
  ['server_error', 'Error', 'this provider has a problem'],
  ['slow', 'Slow', 'this provider responds too late'],
  ['expired', 'Expired', 'the app has forgotten this sign-in: once, it begins again'],
]

/**
 * Starts an OpenID provider that asks for no password. Its host differs from the app's,
 * so it is cross-site.
 */
export async function startLocalProvider({
  redirectUris,
  people,
  port = 0,
  pages = {},
}: Options) {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['local-app', randomBytes(32).toString('base64url')]

  const client = {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: redirectUris,
  }
  const provider = await createProvider(issuer, client, people)
  server.on(
    'request',
    createResponder({
      provider,
      redirectUri: redirectUris[0]!,
      people,
      pages,
      values: { issuer, clientId, clientSecret },
    }),
  )

  async function stop(): Promise<void> {
    server.close()
    server.closeAllConnections()
  }

  return { issuer, clientId, clientSecret, stop }
}

async function createProvider(
  issuer: string,
  client: ClientMetadata,
  people: Person[],
): Promise<Provider> {
  const configuration: Configuration = {
    clients: [client],
    // With this path, browsers do not return the session cookie, so each sign-in asks for
    // an account.
    cookies: { keys: [randomBytes(32).toString('base64url')], long: { path: '/never' } },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      Session: 1200,
      Interaction: 1200,
      Grant: 1200,
      AuthorizationCode: 60,
      AccessToken: 600,
      IdToken: 600,
    },
    findAccount: (_context, id) => findAccount(people, id),
    renderError: (context, { error_description: reason }) => {
      context.type = 'html'
      context.body = renderRejection(reason)
    },
    loadExistingGrant: grantEverything,
  }

  const { warn } = console

  // no warnings about Node.js 20, which works, or about missing storage
  console.warn = () => {}
  const { Provider } = await import('oidc-provider')
  const provider = new Provider(issuer, configuration)
  console.warn = warn

  return provider
}

async function findAccount(people: Person[], id: string): Promise<Account | undefined> {
  const person = people.find((each) => each.id === id)
  if (!person) return undefined

  return {
    accountId: id,
    claims: async () => ({ ...person, sub: id, email_verified: true }),
  }
}

/** Grants all scopes to the client, so that the provider does not ask for consent. */
const grantEverything: Configuration['loadExistingGrant'] = async ({ oidc }) => {
  const grant = new oidc.provider.Grant({
    clientId: oidc.client!.clientId,
    accountId: oidc.session!.accountId!,
  })

  grant.addOIDCScope('openid email profile')
  await grant.save()

  return grant
}

type Site = {
  provider: Provider
  redirectUri: string
  people: Person[]
  pages: Pages
  values: ProviderValues
}

/**
 * Returns a function that responds with the pages of this site, and passes other requests
 * to its provider.
 */
function createResponder(site: Site) {
  const respond = site.provider.callback()
  let isSlow = false // the user has chosen a token endpoint that responds too late

  return (request: IncomingMessage, response: ServerResponse): void => {
    if (rejectForeignHost(request, response)) return

    const { url = '' } = request
    const page = site.pages[url]
    if (page) {
      page(response, site.values).catch((error: Error) =>
        sendPage(response, renderFailure(error), 500),
      )
      return
    }

    const [isOwn, id, choice] =
      /^\/(?:interaction\/([\w-]+)(?:\/([\w-]+))?)?$/.exec(url) ?? []

    if (!isOwn) {
      const delayMs = isSlow && url === '/token' ? slowMs : 0
      setTimeout(() => {
        if (!response.destroyed) respond(request, response)
      }, delayMs)
      return
    }

    if (choice) isSlow = choice === 'slow'
    const answer = choice
      ? endSignIn(site, request, response, choice)
      : showPage(site, request, response, id)
    answer.catch(() => sendPage(response, renderEnded(), 400))
  }
}

/** Ends a sign-in with the ID of an account, or with one of `failures`. */
async function endSignIn(
  { provider, redirectUri, people }: Site,
  request: IncomingMessage,
  response: ServerResponse,
  choice: string,
): Promise<void> {
  if (choice === 'expired') {
    response.writeHead(303, { Location: `${redirectUri}?code=x&state=expired` }).end()
    return
  }

  const accountId = choice === 'slow' ? people[0]!.id : choice
  const isError = choice.includes('_')
  const result = isError ? { error: choice } : { login: { accountId } }
  await provider.interactionFinished(request, response, result)
}

/** Shows the accounts for the sign-in with this ID, or without one, the portal. */
async function showPage(
  { provider, redirectUri, people }: Site,
  request: IncomingMessage,
  response: ServerResponse,
  id?: string,
): Promise<void> {
  if (id) await provider.interactionDetails(request, response) // throws if the sign-in does not exist

  sendPage(
    response,
    id ? renderAccounts(request.url!, people) : renderPortal(redirectUri),
  )
}

function sendPage(response: ServerResponse, html: string, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' }).end(html)
}

/** Returns the page of a sign-in that this provider does not know. */
function renderEnded(): string {
  const text =
    '<p>It has ended, or was started in another browser. Begin it again in the app.</p>'
  return localPage('Example Corp', 'This sign-in can’t continue', text)
}

/** Returns the page of a request of the app that the provider rejects. */
function renderRejection(reason = 'no reason given'): string {
  const text = `<p>The app has sent a request that this provider can’t accept: ${escapeHtml(reason)}.</p>`
  return localPage('Example Corp', 'This sign-in can’t start', text)
}

/** Returns the page of a tool for developers that has failed. */
function renderFailure({ message }: Error): string {
  const text = `<p>The reason: ${escapeHtml(message)}</p>`
  return localPage('Example Corp', 'This page has failed', text)
}

function renderPortal(redirectUri: string): string {
  const start = redirectUri.replace(/callback$/, 'start')
  const tile = [start, 'Dashboard', 'starts a sign-in at the app']
  return localPage('Example Corp', 'Your apps', listChoices([tile]))
}

function renderAccounts(path: string, people: Person[]): string {
  const users = people.map(({ id, name, email }) => [id, name, email])
  const list = (choices: string[][]) =>
    listChoices(choices.map(([id, ...texts]) => [`${path}/${id}`, ...texts]))
  const text =
    '<p>This provider stands in for your customer’s. It asks for no password.</p>'

  return localPage(
    'Example Corp',
    'Choose an account',
    `${text}${list(users)}<p class="or">or let it fail</p>${list(failures)}`,
  )
}
