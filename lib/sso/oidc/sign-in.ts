import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { fetchBounded, type RequestOptions, ResponseRejected } from '../../outgoing'
import type { OidcConnection } from '../connection'
import { foldCase } from '../fold-case'
import type { Contact } from '../identity'
import type { Authenticated, ResponseFields } from '../provider'
import { SignInRejected } from '../rejection'
import { openSecrets } from '../sealed-secrets'
import type { AttemptSecrets } from '../sign-in-attempt'
import { redirectUri } from '../urls'
import { oidcRejection } from './rejection'
import { isEntra, isGoogle, type OidcSettings } from './settings'

const timeoutSeconds = 5 // for each request to the provider
const clockToleranceSeconds = 60
const discoveryMs = 60 * 60 * 1000
const failedDiscoveryMs = 5_000
// OpenID Connect Core §2. PostgreSQL stores neither NUL nor half a surrogate pair.
const subjectPattern = /^[^\0\p{Surrogate}]{1,255}$/u
// The library copies metadata and keys, which blocks everybody: 240 KB of empty objects for 0.1 s.
// Genuine metadata has up to 7 KB, and genuine keys have up to 15 KB.
const maxMetadataBytes = 32 * 1024
const maxResponseBytes = 64 * 1024

/** Returns the URL of the identity provider at which the sign-in goes on. Throws SignInRejected. */
export async function authorize(connection: OidcConnection, secrets: AttemptSecrets): Promise<string> {
  const client = await import('openid-client')
  const { configuration } = await discovered(connection)
  const parameters = {
    redirect_uri: redirectUri(connection.slug),
    scope: 'openid email profile',
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: 'S256',
  }
  try {
    return client.buildAuthorizationUrl(configuration, parameters).href
  } catch (error) {
    throw oidcRejection(error, 'discovery') // such as an endpoint without https
  }
}

/** Verifies the response of the provider, and exchanges its code for an ID token. Throws SignInRejected. */
export async function authenticate(
  connection: OidcConnection,
  fields: ResponseFields,
  secrets: AttemptSecrets,
): Promise<Authenticated> {
  const client = await import('openid-client')
  const { configuration, metadata } = await discovered(connection)
  const response = new URL(redirectUri(connection.slug))
  response.search = fields.toString()
  try {
    const tokens = await client.authorizationCodeGrant(configuration, response, {
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()!
    checkClaims(claims, connection.settings)
    const { iss: issuer, sub } = claims
    const subject = isEntra(issuer) ? claims.oid : sub
    if (typeof subject !== 'string' || !subjectPattern.test(subject))
      throw new SignInRejected('id_token_sub', 'response_invalid')
    const contact = () =>
      contactOf(
        claims,
        async () => client.fetchUserInfo(configuration, tokens.access_token, sub),
        metadata,
        connection.settings,
      )
    return { identity: { issuer, subject }, contact }
  } catch (error) {
    throw oidcRejection(error)
  }
}

type Claims = Record<string, unknown>

/** Checks what openid-client leaves to its users. */
function checkClaims({ azp, iat, tid }: Claims, { clientId, tenants }: OidcSettings): void {
  // openid-client looks at azp only if there are several audiences
  if (azp !== undefined && azp !== clientId) throw new SignInRejected('id_token_azp', 'response_invalid')
  if (Number(iat) > Date.now() / 1000 + clockToleranceSeconds)
    throw new SignInRejected('id_token_iat', 'response_invalid')
  if (tenants && !tenants.some((tenant) => tenant.toLowerCase() === String(tid).toLowerCase()))
    throw new SignInRejected('id_token_tid', 'no_access')
}

/**
 * Reads the e-mail address from the ID token, else from the user info endpoint: with the code flow,
 * a provider may have it only there (OpenID Connect Core §5.4).
 */
async function contactOf(
  idToken: Claims,
  userInfo: () => Promise<Claims>,
  { issuer, userinfo_endpoint: endpoint }: ServerMetadata,
  { emailClaim, trustClaim }: OidcSettings,
): Promise<Contact> {
  const documents = [idToken]
  if (addressesIn(idToken, emailClaim).length === 0 && endpoint) {
    const read = userInfo().catch((error) => {
      throw oidcRejection(error, 'user_info')
    })
    documents.push(await read)
  }
  const { email, isVerified } = emailOf(documents, emailClaim)
  if (emailClaim && !trustClaim) throw new SignInRejected('email_claim_untrusted', 'no_access')
  return {
    email,
    isVerified,
    ...(isGoogle(issuer) && { hostedDomain: typeof idToken.hd === 'string' ? idToken.hd : null }),
  }
}

/** Returns the different email addresses in a document. Some providers send a list, or blanks in place of none. */
function addressesIn(claims: Claims, name = 'email'): string[] {
  const texts = [claims[name]].flat().filter((value) => typeof value === 'string')
  const addresses = texts.map((text) => text.trim()).filter((text) => text !== '')
  return [...new Map(addresses.map((address) => [foldCase(address), address])).values()]
}

/** Providers of companies often leave the claim out. Some send it as a string. */
function isNotDenied(claim: unknown): boolean {
  return (claim ?? true) === true || (typeof claim === 'string' && /^\s*true\s*$/i.test(claim))
}

/**
 * Returns the email address of the first document that has one. It is verified unless any of the
 * documents has another `email_verified` than true. Throws SignInRejected if there is not one.
 */
export function emailOf(documents: Claims[], name?: string): { email: string; isVerified: boolean } {
  const read = (claim?: string) =>
    documents.map((claims) => addressesIn(claims, claim)).find((addresses) => addresses.length > 0) ?? []
  const [email, another] = read(name)
  if (another !== undefined) throw new SignInRejected('email_several', 'no_access')
  if (email === undefined) {
    const others = documents.flatMap((claims) => Object.keys(claims)).flatMap(read)
    const isElsewhere = others.some((text) => /^[^\s@]+@[^\s@]+$/.test(text))
    throw new SignInRejected(isElsewhere ? 'email_elsewhere' : 'email_missing', 'no_access')
  }
  return {
    email,
    isVerified: documents.every(({ email_verified: claim }) => isNotDenied(claim)),
  }
}

/** A provider. `metadata` is the library's copy, which it would make again for each sign-in. */
type Discovered = { configuration: Configuration; metadata: ServerMetadata }
type Discovery = { source: string; discovered: Promise<Discovered>; endsAt: number }

const cache = new Map<string, Discovery>() // by connection

/**
 * Returns the metadata and keys of a provider, which are fetched hourly, and at once when the
 * settings change. A failure is kept for seconds, so that sign-ins do not repeat its work. Throws
 * SignInRejected.
 */
async function discovered(connection: OidcConnection): Promise<Discovered> {
  const { id, settings, sealedSecrets } = connection
  const source = JSON.stringify([settings, sealedSecrets])
  let entry = cache.get(id)
  if (!entry || entry.source !== source || entry.endsAt < performance.now()) {
    entry = { source, discovered: discover(connection), endsAt: performance.now() + discoveryMs }
    cache.set(id, entry)
    const failed = entry
    entry.discovered.catch(() => {
      failed.endsAt = performance.now() + failedDiscoveryMs
    })
  }
  return entry.discovered
}

/** Fetches the metadata of a provider. Throws SignInRejected. */
export async function discover(connection: OidcConnection): Promise<Discovered> {
  const client = await import('openid-client')
  const { issuer, clientId, tokenAuth } = connection.settings
  const { clientSecret } = await openSecrets(connection)
  const extensions = [client.enableNonRepudiationChecks]
  // which lib/sso/provider-url.ts allows on this machine only
  if (new URL(issuer).protocol === 'http:') extensions.push(client.allowInsecureRequests)
  try {
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      // The default of OpenID Connect is Basic, and some providers accept only what was registered.
      (server, metadata, body, headers) => {
        const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
        const announced = methods.includes('client_secret_basic') ? 'basic' : 'post'
        const authentication =
          (tokenAuth ?? announced) === 'basic'
            ? clientSecretBasic(clientSecret!)
            : client.ClientSecretPost(clientSecret!)
        return authentication(server, metadata, body, headers)
      },
      {
        execute: extensions,
        timeout: timeoutSeconds,
        [client.customFetch]: fetchFromProvider(maxMetadataBytes),
      },
    )
    const metadata = configuration.serverMetadata()
    // The library compares issuers as URLs, which drop control characters at their ends. PostgreSQL
    // stores no NUL.
    if (/\p{Cc}/u.test(metadata.issuer)) throw new SignInRejected('discovery_issuer', 'temporarily_unavailable')
    if (!metadata.authorization_endpoint || !metadata.token_endpoint || !metadata.jwks_uri)
      throw new SignInRejected('discovery_metadata', 'temporarily_unavailable')
    configuration[client.customFetch] = fetchFromProvider(maxResponseBytes)
    return { configuration, metadata }
  } catch (error) {
    throw oidcRejection(error, 'discovery')
  }
}

function fetchFromProvider(maxBytes: number): CustomFetch {
  return async (url, options) => {
    try {
      return await fetchBounded(url, options as RequestOptions, maxBytes)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') throw error
      throw new SignInRejected(checkOf(error), 'temporarily_unavailable', error)
    }
  }
}

function checkOf(error: unknown): string {
  if (!(error instanceof ResponseRejected)) return 'provider_unreachable'
  return error.reason === 'size' ? 'provider_response_size' : 'provider_response_encoding'
}

/**
 * HTTP Basic authentication (RFC 6749 §2.3.1). As openid-client does it, but it also encodes - and _,
 * which nobody has to: providers that do not decode, such as LemonLDAP::NG, then reject most clients.
 */
function clientSecretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const credentials = [clientId, clientSecret].map(formEncode).join(':')
    headers.set('Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

function formEncode(value: string): string {
  return new URLSearchParams({ value }).toString().slice('value='.length)
}
