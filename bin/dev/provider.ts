import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'
import { rejectForeignHost } from './foreign-host'
import { choicesOf, localPage } from './page'

type Options = {
  redirectUris: string[]
  people: { id: string; name: string; email: string }[]
  port?: number
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
export async function startLocalProvider({ redirectUris, people, port = 0 }: Options) {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['local-app', randomBytes(32).toString('base64url')]
  let isSlow = false

  const configuration: Configuration = {
    clients: [
      { client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris },
    ],
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
    findAccount: async (_context, id) => {
      const person = people.find((each) => each.id === id)
      return (
        person && {
          accountId: id,
          claims: async () => ({ ...person, sub: id, email_verified: true }),
        }
      )
    },
    // does not ask for consent
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  }

  const { warn } = console

  // no warnings about Node.js 20, which works, or about missing storage
  console.warn = () => {}
  const { Provider } = await import('oidc-provider')
  const provider = new Provider(issuer, configuration)
  console.warn = warn
  const respond = provider.callback()

  server.on('request', (request, response) => {
    if (rejectForeignHost(request, response)) return

    const { url = '' } = request
    const [own, id, choice] =
      /^\/(?:interaction\/([\w-]+)(?:\/([\w-]+))?)?$/.exec(url) ?? []
    const answer = () => response.destroyed || respond(request, response)
    if (!own) return void setTimeout(answer, isSlow && url === '/token' ? slowMs : 0)

    show(request, response, id, choice).catch((error: Error) =>
      response.writeHead(400).end(error.message),
    )
  })

  async function show(
    request: IncomingMessage,
    response: ServerResponse,
    id?: string,
    choice?: string,
  ): Promise<void> {
    if (choice === 'expired')
      return void response
        .writeHead(303, { Location: `${redirectUris[0]}?code=x&state=expired` })
        .end()

    isSlow = choice === 'slow'
    const login = { accountId: isSlow ? people[0]!.id : choice! }
    const result = choice?.includes('_') ? { error: choice } : { login }
    if (choice) return provider.interactionFinished(request, response, result)

    // throws if the sign-in does not exist
    if (id) await provider.interactionDetails(request, response)

    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })

    const tile = [
      redirectUris[0]!.replace(/callback$/, 'start'),
      'Dashboard',
      'starts a sign-in at the app',
    ]

    response.end(
      id
        ? accounts(request.url!, people)
        : localPage('Example Corp', 'Your apps', choicesOf([tile])),
    )
  }

  async function stop(): Promise<void> {
    server.close()
    server.closeAllConnections()
  }

  return { issuer, clientId, clientSecret, stop }
}

function accounts(path: string, people: Options['people']): string {
  const users = people.map(({ id, name, email }) => [id, name, email])
  const list = (choices: string[][]) =>
    choicesOf(choices.map(([id, ...texts]) => [`${path}/${id}`, ...texts]))
  const text =
    '<p>This provider stands in for your customer’s. It asks for no password.</p>'

  return localPage(
    'Example Corp',
    'Choose an account',
    text + list(users) + list(failures),
  )
}
