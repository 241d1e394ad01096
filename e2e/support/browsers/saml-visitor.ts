import { randomBytes, verify, X509Certificate } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { addConnection, type NewConnection } from '../../../lib/sso/manage/connections'
import type { SamlSettings } from '../../../lib/sso/saml/settings'
import type { ResponseOptions, SamlProvider } from '../providers/saml-provider'
import { keepSecret } from '../secrets'
import { Visitor } from './sso-visitor'

type Overriding = Partial<Omit<NewConnection, 'settings'>> & {
  settings?: Partial<SamlSettings>
}

/**
 * Adds a connection to a provider for one domain, and gives the provider our settings.
 * `url` is the URL of our server. Returns the slug.
 */
export async function connectSaml(
  { settings: ours }: SamlProvider,
  url: string,
  { settings, ...overriding }: Overriding = {},
): Promise<string> {
  const slug = overriding.slug ?? `saml-${randomBytes(6).toString('hex')}`
  const { privateKey, certificate, signRequests } = ours
  Object.assign(ours, {
    entityId: `${url}/api/auth/sso/${slug}/metadata`,
    acsUrl: `${url}/api/auth/sso/${slug}/acs`,
  })
  const { issuer, ssoUrl, certificates } = ours
  await addConnection({
    slug,
    name: 'Test',
    settings: {
      kind: 'saml',
      issuer,
      ssoUrl,
      certificates,
      certificate,
      signRequests,
      signed: 'either',
      ...settings,
    },
    secrets: { privateKey },
    domains: [`${slug}.example.org`],
    activate: true,
    provision: true,
    listed: false,
    allowPasswords: false,
    ...overriding,
  })
  return slug
}

/** A sign-in that has begun, with the parameters that the provider received. */
export type Begun = { slug: string; url: URL; requestId: string; relayState: string }

/** A browser without a screen that signs in with SAML. */
export class SamlVisitor extends Visitor {
  async begin(slug: string, next?: string): Promise<Begun> {
    const url = await this.start(slug, next)
    const relayState = url.searchParams.get('RelayState')
    if (!relayState) throw new Error(`The start led to ${url}`)
    return { slug, url, requestId: requestIdIn(url), relayState }
  }

  /**
   * Posts a response to our ACS, as the provider's form does. Returns the URL of the
   * redirect.
   */
  deliver(
    { slug, relayState }: Pick<Begun, 'slug' | 'relayState'>,
    response: string,
    withCookies = false,
  ) {
    const form = new URLSearchParams({ SAMLResponse: response, RelayState: relayState })
    return this.open(`/api/auth/sso/${slug}/acs`, form, withCookies)
  }
}

/**
 * Returns the provider's response to a request, in base64. By default, the assertion is
 * signed.
 */
export function responseTo(
  provider: SamlProvider,
  { slug, requestId }: Begun,
  options: ResponseOptions = {},
): string {
  const signs = options.response === undefined && options.assertion === undefined
  const email = `ada@${slug}.example.org`
  return keepSecret(
    provider.respond({ ...(signs && { assertion: true }), requestId, email, ...options }),
  )
}

/** The XML of the AuthnRequest in a URL of HTTP-Redirect. */
export function authnRequestIn(url: URL): string {
  return inflateRawSync(
    Buffer.from(url.searchParams.get('SAMLRequest')!, 'base64'),
  ).toString()
}

/** The ID of the AuthnRequest in a URL of HTTP-Redirect. */
export function requestIdIn(url: URL): string {
  return / ID="([^"]*)"/.exec(authnRequestIn(url))![1]!
}

/** Whether the request in a URL is signed with the key of this certificate. */
export function isSignedBy({ search }: URL, certificate: string | Buffer): boolean {
  const [signed, signature] = search
    .slice(search.indexOf('SAMLRequest='))
    .split('&Signature=')
  const { publicKey } = new X509Certificate(certificate)
  const bytes = Buffer.from(decodeURIComponent(signature!), 'base64')
  return verify('sha256', Buffer.from(signed!), publicKey, bytes)
}
