import { randomUUID } from 'node:crypto'
import type { NewConnection } from '../../../lib/sso/manage/connections'
import { connect } from '../databases/connection'
import { test } from '../fixtures'
import { type Provider, startProvider } from '../providers/oidc-provider'
import {
  newSamlProvider,
  type ResponseOptions,
  type SamlProvider,
} from '../providers/saml-provider'
import { findOrStart } from '../servers/kept-servers'
import type { Server } from '../servers/server'
import { authnRequestIn, connectSaml, requestIdIn, responseTo } from './saml-visitor'
import type { Visitor } from './sso-visitor'

/** The request with which a browser returns from a provider. SAML posts a form. */
export type Answer = { path: string; form?: URLSearchParams }

/** A kind of identity provider, for the rules that are the same for both. */
export type Kind = {
  /** The names of our route that reads the response, and of the parameter for its state. */
  route: 'sso-callback' | 'sso-acs'
  state: 'state' | 'RelayState'
  /** Adds a connection, and returns its slug. */
  connect(overriding?: Partial<Omit<NewConnection, 'settings'>>): Promise<string>
  /** Returns the answer of the provider to the request in a URL. */
  answer(slug: string, request: URL, options?: ResponseOptions): Promise<Answer>
  /** Returns what a request asks the provider to ask the user for, or null. */
  readAsk(request: URL): string | null
}

export type KindName = 'OpenID Connect' | 'SAML'
export const kindNames: KindName[] = ['OpenID Connect', 'SAML']

/** A server, and a provider of each kind. */
export type Sso = {
  server: Server
  provider: Provider
  samlProvider: SamlProvider
  kinds: Record<KindName, Kind>
}

/**
 * Starts the providers and a server with these settings before the tests of a file, and
 * calls `take` with them. Each test begins with another person, whom the OpenID provider
 * signs in as it should.
 */
export function testWithSso(
  take: (sso: Sso) => unknown,
  settings?: Record<string, string>,
): void {
  let provider: Provider

  test.beforeAll(async ({ serverWith }) => {
    await serverWith(settings) // stops it with the file or the worker
    const { server } = await findOrStart(settings)
    const samlProvider = await newSamlProvider()
    provider = await startProvider()
    const kinds = createKinds(server.url, provider, samlProvider)
    take({ server, provider, samlProvider, kinds })
  })
  test.afterAll(() => provider?.stop())
  test.beforeEach(() => {
    provider.behavior = {}
    provider.person = { sub: randomUUID() }
  })
}

/** Returns both kinds, for the server with this URL. */
export function createKinds(
  url: string,
  oidc: Provider,
  saml: SamlProvider,
): Record<KindName, Kind> {
  return {
    'OpenID Connect': {
      route: 'sso-callback',
      state: 'state',
      connect: (overriding) => connect(oidc, overriding),
      answer: async (_slug, request) => {
        const response = await fetch(request, { redirect: 'manual' })
        const { pathname, search } = new URL(response.headers.get('location')!)
        return { path: pathname + search }
      },
      readAsk: ({ searchParams }) => searchParams.get('prompt'),
    },
    SAML: {
      route: 'sso-acs',
      state: 'RelayState',
      connect: (overriding) => connectSaml(saml, url, overriding),
      answer: async (slug, request, options) => {
        const [path, relayState] = [
          `/api/auth/sso/${slug}/acs`,
          request.searchParams.get('RelayState')!,
        ]
        Object.assign(saml.settings, {
          entityId: `${url}/api/auth/sso/${slug}/metadata`,
          acsUrl: url + path,
        })
        const begun = { slug, url: request, relayState, requestId: requestIdIn(request) }
        const SAMLResponse = responseTo(saml, begun, options)
        return {
          path,
          form: new URLSearchParams({ SAMLResponse, RelayState: relayState }),
        }
      },
      readAsk: (request) =>
        / ForceAuthn="([^"]*)"/.exec(authnRequestIn(request))?.[1] ?? null,
    },
  }
}

/** Returns an answer with another state, or without one. */
export function withState(
  { path, form }: Answer,
  name: Kind['state'],
  state: string | null,
): Answer {
  const [pathname, query] = path.split('?')
  const parameters = new URLSearchParams(form ?? query)
  if (state === null) parameters.delete(name)
  else parameters.set(name, state)
  return form ? { path, form: parameters } : { path: `${pathname}?${parameters}` }
}

/** Sends an answer as a visitor. Returns the URL of the redirect. */
export function send(visitor: Visitor, { path, form }: Answer): Promise<URL> {
  return visitor.open(path, form)
}
