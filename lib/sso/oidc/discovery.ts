import type { ClientAuth, CustomFetch, ServerMetadata } from 'openid-client'
import { log } from '../../log/log'
import {
  AddressRejected,
  fetchBounded,
  type RequestOptions,
  ResponseRejected,
} from '../../outgoing'
import { clockToleranceSeconds } from '../clock'
import type { OidcConnection } from '../connection'
import { SignInRejected } from '../rejection'
import { decryptSecrets } from '../secrets'
import type { Trace } from '../trace'
import { oidcRejection } from './rejection'
import { type OidcSettings, separatesTenants } from './settings'

const timeoutSeconds = 5 // for each request to the provider
const discoveryMs = 60 * 60 * 1000
const failedDiscoveryMs = 5_000
// While a provider can't be reached, the last good metadata and keys are used. They are
// requested again every minute.
const renewalMs = 60_000
const staleMs = 24 * 60 * 60 * 1000
const renewedKeysTimeoutMs = 2_000
// Copies by the library block the process: 0.1 s for 240 KB. Real metadata has up to 7
// KB, and real keys have 15 KB.
const maxMetadataBytes = 32 * 1024
const maxKeysBytes = 64 * 1024
const maxResponseBytes = 256 * 1024 // enough for a token with hundreds of groups

type Discovered = Awaited<ReturnType<typeof discover>>

/**
 * Metadata that is fetched again after `endsAt`. If that fails, it is used until
 * `servesUntil`.
 */
type Discovery = {
  source: string
  discovered: Promise<Discovered>
  endsAt: number
  servesUntil: number
}

const cache = new Map<string, Discovery>() // by the ID of the connection
// the last good keys, by connection ID and URL
const keyCopies = new Map<string, { body: string; fetchedAt: number }>()

/**
 * Returns the metadata of a provider. Fetches it after changes of the settings, and
 * hourly in the background.
 */
export async function loadDiscovery(connection: OidcConnection): Promise<Discovered> {
  const { id, slug, settings, encryptedSecrets } = connection
  const source = JSON.stringify([settings, encryptedSecrets])
  const last = cache.get(id)
  const known = last?.source === source ? last : undefined
  const now = performance.now()
  if (known && now < known.endsAt) return known.discovered

  const entry = {
    source,
    discovered: discover(connection),
    endsAt: now + discoveryMs,
    servesUntil: now + staleMs,
  }

  if (!known || now >= known.servesUntil) {
    cache.set(id, entry)

    entry.discovered.catch(() => {
      entry.endsAt = performance.now() + failedDiscoveryMs
      entry.servesUntil = 0
    })

    return entry.discovered
  }

  known.endsAt = now + renewalMs

  entry.discovered.then(
    () => cache.set(id, entry),
    ({ check }: SignInRejected) =>
      log.warn(
        { connection: slug, check },
        'the metadata of a provider could not be fetched: the last one serves',
      ),
  )

  return known.discovered
}

/**
 * Fetches the metadata of a provider. Returns it separately too, because the library
 * copies it on each access.
 */
export async function discover(connection: OidcConnection) {
  const client = await import('openid-client')
  const { issuer, clientId, tokenAuth } = connection.settings
  if (!separatesTenants(connection.settings))
    throw new SignInRejected('tenant_domains', 'unavailable')

  const { clientSecret } = await decryptSecrets(connection)
  const extensions = [client.enableNonRepudiationChecks]

  // lib/sso/urls.ts allows http on this machine only
  if (new URL(issuer).protocol === 'http:') extensions.push(client.allowInsecureRequests)

  try {
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      authenticateClient(client, clientSecret!, tokenAuth),
      {
        execute: extensions,
        timeout: timeoutSeconds,
        [client.customFetch]: fetchFromProvider(connection, maxMetadataBytes),
      },
    )

    const metadata = configuration.serverMetadata()
    checkMetadata(metadata)
    configuration[client.customFetch] = fetchAfterDiscovery(connection, metadata)

    return { configuration, metadata }
  } catch (error) {
    throw oidcRejection(error, 'discovery')
  }
}

/**
 * Fetches the metadata of a provider for a test, which must not see older ones. Traces the
 * responses of its token and user info endpoints.
 */
export async function discoverTraced(
  connection: OidcConnection,
  trace: Trace,
): Promise<Discovered> {
  const client = await import('openid-client')
  const { configuration, metadata } = await discover(connection)
  const fetchResponse = configuration[client.customFetch]!
  const { href: tokenUrl } = new URL(metadata.token_endpoint!)

  configuration[client.customFetch] = async (url, options) => {
    const response = await fetchResponse(url, options)
    if (url !== metadata.jwks_uri) {
      const from = url === tokenUrl ? 'token' : 'userInfo'
      trace({ from, body: await response.clone().text() })
    }
    return response
  }

  return { configuration, metadata }
}

/**
 * Authenticates by the method of the connection, or by one that the metadata announces.
 * Some providers accept only the registered method. The default of OpenID Connect is
 * Basic.
 */
function authenticateClient(
  client: typeof import('openid-client'),
  clientSecret: string,
  tokenAuth: OidcSettings['tokenAuth'],
): ClientAuth {
  return (server, metadata, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? [
      'client_secret_basic',
    ]
    const announced = methods.includes('client_secret_basic') ? 'basic' : 'post'
    const method = tokenAuth ?? announced
    const authenticate = method === 'basic' ? clientSecretBasic : client.ClientSecretPost

    return authenticate(clientSecret)(server, metadata, body, headers)
  }
}

function checkMetadata(metadata: ServerMetadata): void {
  // The library ignores control characters at the ends of issuers. PostgreSQL can't store
  // one of them, NUL.
  if (/\p{Cc}/u.test(metadata.issuer))
    throw new SignInRejected('discovery_issuer', 'temporarily_unavailable')

  if (!metadata.authorization_endpoint || !metadata.token_endpoint || !metadata.jwks_uri)
    throw new SignInRejected('discovery_metadata', 'temporarily_unavailable')
}

/** Returns a fetch function for the keys of a provider, as a sign-in fetches them. */
export function fetchKeysOf(
  connection: OidcConnection,
): (url: string, options: RequestOptions) => Promise<Response> {
  return (url, options) => fetchKeys(connection, url, options)
}

/** Fetches the keys of a provider, as a sign-in does. Throws SignInRejected. */
export async function checkKeys(
  connection: OidcConnection,
  { jwks_uri: url }: ServerMetadata,
): Promise<void> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1000)
  await fetchKeys(connection, url!, { method: 'GET', signal })
}

/** Returns the fetch function for keys, tokens and user info. */
function fetchAfterDiscovery(
  connection: OidcConnection,
  metadata: ServerMetadata,
): CustomFetch {
  const fetchResponse = fetchFromProvider(connection, maxResponseBytes)
  const { href: tokenUrl } = new URL(metadata.token_endpoint!)

  return async (url, options) => {
    if (url === metadata.jwks_uri)
      return fetchKeys(connection, url, options as RequestOptions)

    const response = await fetchResponse(url, options)
    return url === tokenUrl ? withoutNulls(response) : response
  }
}

/**
 * Fetches the keys of a provider. If that fails, returns the last good keys for up to a
 * day. Throws SignInRejected.
 */
async function fetchKeys(
  { id, slug, settings }: OidcConnection,
  url: string,
  options: RequestOptions,
): Promise<Response> {
  const name = `${id} ${url}`
  const copy = keyCopies.get(name)
  const isUsable = copy && performance.now() < copy.fetchedAt + staleMs
  const publicOnly = settings.publicOnly ?? false
  const signals = [options.signal]
  if (isUsable) signals.push(AbortSignal.timeout(renewedKeysTimeoutMs))

  try {
    const response = await fetchBounded(
      url,
      { ...options, publicOnly, signal: AbortSignal.any(signals) },
      maxKeysBytes,
    )

    const body = await response.text()
    const { keys } = JSON.parse(body)
    if (!response.ok || !Array.isArray(keys))
      throw new Error('The response holds no keys.')
    if (keys.length === 0)
      throw new SignInRejected('provider_keys_empty', 'response_invalid')

    keyCopies.set(name, { body, fetchedAt: performance.now() })

    return new Response(body, response)
  } catch (error) {
    const check = error instanceof AddressRejected ? 'provider_address' : 'provider_keys'
    const rejection =
      error instanceof SignInRejected
        ? error
        : new SignInRejected(check, 'temporarily_unavailable', error)
    if (!isUsable) throw rejection

    const failed = { connection: slug, check: rejection.check }
    log.warn(failed, 'the keys of a provider could not be fetched: the last ones serve')

    return Response.json(JSON.parse(copy.body))
  }
}

/**
 * Returns a response without the members of its JSON that are null. Some providers send
 * null for a missing value, which the library rejects.
 */
async function withoutNulls(response: Response): Promise<Response> {
  const body = await readJson(response.clone())
  if (typeof body !== 'object' || body === null) return response

  const present = Object.entries(body).filter(([, value]) => value !== null)
  return new Response(JSON.stringify(Object.fromEntries(present)), response)
}

/** Returns null if the body is not JSON. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return null
  }
}

const unreadResponses = {
  size: 'provider_response_size',
  encoding: 'provider_response_encoding',
}

function fetchFromProvider({ settings }: OidcConnection, maxBytes: number): CustomFetch {
  const publicOnly = settings.publicOnly ?? false

  return async (url, options) => {
    try {
      const sent = { ...(options as RequestOptions), publicOnly }
      return await fetchBounded(url, sent, maxBytes)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') throw error

      const check = findFetchCheck(error)
      throw new SignInRejected(check, 'temporarily_unavailable', error)
    }
  }
}

function findFetchCheck(error: unknown): string {
  if (error instanceof ResponseRejected) return unreadResponses[error.reason]
  return error instanceof AddressRejected ? 'provider_address' : 'provider_unreachable'
}

/**
 * Authenticates by HTTP Basic. openid-client also encodes - and _, which fails at
 * providers that do not decode.
 */
function clientSecretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const formEncode = (value: string) =>
      new URLSearchParams({ value }).toString().slice('value='.length)

    const credentials = [clientId, clientSecret].map(formEncode).join(':')
    headers.set('Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}
