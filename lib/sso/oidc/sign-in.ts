import type { ClientAuth, CustomFetch, ServerMetadata } from 'openid-client'
import { log } from '../../log/log'
import { fetchBounded, type RequestOptions, ResponseRejected } from '../../outgoing'
import type { OidcConnection } from '../connection'
import { soleAddress } from '../email'
import type { Ask } from '../next-sign-in'
import type { Provider } from '../provider'
import { SignInRejected } from '../rejection'
import { decryptSecrets } from '../secrets'
import { ssoUrl } from '../urls'
import { oidcRejection } from './rejection'
import { isEntra, isGoogle, type OidcSettings, separatesTenants } from './settings'

const timeoutSeconds = 5 // for each request to the provider
const clockToleranceSeconds = 60
const discoveryMs = 60 * 60 * 1000
const failedDiscoveryMs = 5_000
// While a provider can't be reached, the last good metadata and keys are used. They are
// requested again every minute.
const renewalMs = 60_000
const staleMs = 24 * 60 * 60 * 1000
const renewedKeysTimeoutMs = 2_000
const registeredAmr =
  'face fpt geo hwk iris kba mca mfa otp pin pwd rba retina sc sms swk tel user vbm wia'.split(
    ' ',
  )
// OpenID Connect Core §2, without NUL and lone surrogates, which PostgreSQL can't store.
const subjectPattern = /^[^\0\p{Surrogate}]{1,255}$/u
// Copies by the library block the process: 0.1 s for 240 KB. Real metadata has up to 7
// KB, and real keys have 15 KB.
const maxMetadataBytes = 32 * 1024
const maxKeysBytes = 64 * 1024
const maxResponseBytes = 256 * 1024 // enough for a token with hundreds of groups

type OidcProvider = Provider<OidcConnection>

export const authorize: OidcProvider['authorize'] = async (connection, secrets, ask) => {
  const client = await import('openid-client')
  const { configuration, metadata } = await discovered(connection)
  const prompt = ask && promptOf(ask, metadata)

  const parameters = {
    redirect_uri: ssoUrl(connection.slug, 'callback'),
    scope: 'openid email profile',
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: 'S256',
    ...(prompt && { prompt }),
  }

  try {
    return client.buildAuthorizationUrl(configuration, parameters).href
  } catch (error) {
    throw oidcRejection(error, 'discovery') // for example, an endpoint without https
  }
}

/**
 * Returns the `prompt`. Google and Entra ID list no values. Google lacks `login`, despite
 * OpenID Connect §15.1.
 */
export function promptOf(
  ask: Ask,
  { issuer, prompt_values_supported: listed }: ServerMetadata,
): string | undefined {
  const unlisted = isGoogle(issuer)
    ? ['select_account']
    : isEntra(issuer)
      ? ['select_account', 'login']
      : ['login']

  const supported = Array.isArray(listed) ? listed : unlisted
  const wanted =
    ask === 'account' ? ['select_account', 'login'] : ['login', 'select_account']

  return wanted.find((value) => supported.includes(value))
}

export const authenticate: OidcProvider['authenticate'] = async (
  connection,
  fields,
  secrets,
) => {
  const client = await import('openid-client')
  const { configuration, metadata } = await discovered(connection)
  const response = new URL(ssoUrl(connection.slug, 'callback'))
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

    const userInfo = () => client.fetchUserInfo(configuration, tokens.access_token, sub)
    const contact = () => contactOf(claims, userInfo, metadata, connection)

    return {
      identity: { issuer, subject },
      contact,
      account: accountIn(claims),
      amr: amrOf(claims),
    }
  } catch (error) {
    throw oidcRejection(error)
  }
}

type Claims = Record<string, unknown>
type UserInfo = () => Promise<Claims>

/** Makes the checks that openid-client does not make. */
function checkClaims(claims: Claims, { clientId, tenants }: OidcSettings): void {
  const { azp, iat, tid } = claims

  // openid-client checks azp only if there are several audiences
  if (azp !== undefined && azp !== clientId)
    throw new SignInRejected('id_token_azp', 'response_invalid')
  if (Number(iat) > Date.now() / 1000 + clockToleranceSeconds)
    throw new SignInRejected('id_token_iat', 'response_invalid')

  if (
    tenants &&
    !tenants.some((tenant) => tenant.toLowerCase() === String(tid).toLowerCase())
  )
    throw Object.assign(new SignInRejected('id_token_tid', 'no_access'), {
      account: accountIn(claims),
    })
}

/**
 * Returns the `amr` values: how the user authenticated. Returns null unless all values
 * are registered (RFC 8176).
 */
function amrOf({ amr }: Claims): string[] | null {
  const isRegistered =
    Array.isArray(amr) &&
    amr.length > 0 &&
    amr.every((value) => registeredAmr.includes(value))
  return isRegistered ? [...new Set<string>(amr)] : null
}

/**
 * Returns the account name at the provider. Entra ID and ADFS send only
 * `preferred_username` or `upn`.
 */
function accountIn(claims: Claims): string | undefined {
  return ['email', 'preferred_username', 'upn'].flatMap((name) =>
    addressesIn(claims, name),
  )[0]
}

/**
 * Reads the email from the ID token, or else from user info. Some providers send it, or
 * whether it is verified, only there (Core §5.4).
 */
async function contactOf(
  idToken: Claims,
  userInfo: UserInfo,
  metadata: ServerMetadata,
  { slug, settings }: OidcConnection,
) {
  const { issuer, userinfo_endpoint: endpoint } = metadata
  const { emailClaim = 'email', trustClaim, tenantDomains } = settings
  const hasAddress = addressesIn(idToken, emailClaim).length > 0

  // `email_verified` is only about the claim `email`
  const hasVerdict = idToken.email_verified !== undefined || emailClaim !== 'email'

  const documents = [idToken]
  if (endpoint && !(hasAddress && hasVerdict)) {
    const further = await userInfo().catch((error) => {
      const rejection = oidcRejection(error, 'user_info')
      if (!hasAddress) throw rejection
      const failed = { connection: slug, check: rejection.check }
      log.warn(failed, 'the user info could not be read: the ID token alone is used')
      return {}
    })

    documents.push(further)
  }

  const { email, isVerified } = emailOf(documents, emailClaim)
  if (settings.emailClaim && !trustClaim)
    throw new SignInRejected('email_claim_untrusted', 'no_access')

  return {
    email,
    isVerified,
    ...(tenantDomains && {
      domains: tenantDomains[String(idToken.tid).toLowerCase()] ?? [],
    }),
    ...(isGoogle(issuer) && {
      hostedDomain: typeof idToken.hd === 'string' ? idToken.hd : null,
    }),
  }
}

/**
 * Returns the email addresses in a document. Some providers send a list, or a blank text
 * for a missing address.
 */
function addressesIn(claims: Claims, name = 'email'): string[] {
  const texts = [claims[name]].flat().filter((value) => typeof value === 'string')
  return texts.map((text) => text.trim()).filter((text) => text !== '')
}

/**
 * Whether `email_verified` is missing or true. Company providers often omit it, and some
 * send a string.
 */
function isNotDenied(claim: unknown): boolean {
  return (
    claim === undefined ||
    claim === true ||
    (typeof claim === 'string' && /^\s*true\s*$/i.test(claim))
  )
}

/**
 * Whether Entra ID marks the domain of the email as unverified (`xms_edov`). The claim is
 * read for every issuer, because Entra ID has many issuers, and others can pass it on.
 */
function isDomainDenied(claim: unknown): boolean {
  return /^\s*(false|0)\s*$/i.test(String(claim))
}

/**
 * Returns the email. It counts as verified unless a document denies that. Throws
 * SignInRejected without an email.
 */
export function emailOf(
  documents: Claims[],
  name = 'email',
): { email: string; isVerified: boolean } {
  const given = documents
    .map((claims) => addressesIn(claims, name))
    .find((addresses) => addresses.length > 0)
  const others = documents.flatMap((claims) =>
    Object.keys(claims).flatMap((claim) => addressesIn(claims, claim)),
  )
  const isVerified = documents.every(
    ({ email_verified: claim, xms_edov: domain }) =>
      isNotDenied(claim) && !(name === 'email' && isDomainDenied(domain)),
  )

  return { email: soleAddress(given ?? [], others), isVerified }
}

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
async function discovered(connection: OidcConnection): Promise<Discovered> {
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
    entry.discovered.catch(() =>
      Object.assign(entry, {
        endsAt: performance.now() + failedDiscoveryMs,
        servesUntil: 0,
      }),
    )

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

  // lib/sso/provider-url.ts allows http on this machine only
  if (new URL(issuer).protocol === 'http:') extensions.push(client.allowInsecureRequests)

  try {
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      // Some providers accept only the registered method. The default of OpenID Connect
      // is Basic.
      (server, metadata, body, headers) => {
        const methods = server.token_endpoint_auth_methods_supported ?? [
          'client_secret_basic',
        ]
        const announced = methods.includes('client_secret_basic') ? 'basic' : 'post'
        const authenticate =
          (tokenAuth ?? announced) === 'basic'
            ? clientSecretBasic
            : client.ClientSecretPost

        return authenticate(clientSecret!)(server, metadata, body, headers)
      },
      {
        execute: extensions,
        timeout: timeoutSeconds,
        [client.customFetch]: fetchFromProvider(maxMetadataBytes),
      },
    )

    const metadata = configuration.serverMetadata()

    // The library ignores control characters at the ends of issuers. PostgreSQL can't
    // store one of them, NUL.
    if (/\p{Cc}/u.test(metadata.issuer))
      throw new SignInRejected('discovery_issuer', 'temporarily_unavailable')

    if (
      !metadata.authorization_endpoint ||
      !metadata.token_endpoint ||
      !metadata.jwks_uri
    )
      throw new SignInRejected('discovery_metadata', 'temporarily_unavailable')

    const fetchResponse = fetchFromProvider(maxResponseBytes)
    const { href: tokenUrl } = new URL(metadata.token_endpoint)

    configuration[client.customFetch] = async (url, options) => {
      if (url === metadata.jwks_uri)
        return fetchKeys(connection, url, options as RequestOptions)
      const response = await fetchResponse(url, options)
      return url === tokenUrl ? withoutNulls(response) : response
    }

    return { configuration, metadata }
  } catch (error) {
    throw oidcRejection(error, 'discovery')
  }
}

/**
 * Fetches the keys of a provider. If that fails, returns the last good keys for up to a
 * day. Throws SignInRejected.
 */
async function fetchKeys(
  { id, slug }: OidcConnection,
  url: string,
  options: RequestOptions,
): Promise<Response> {
  const name = `${id} ${url}`
  const copy = keyCopies.get(name)
  const isUsable = copy && performance.now() < copy.fetchedAt + staleMs
  const signals = [
    options.signal,
    ...(isUsable ? [AbortSignal.timeout(renewedKeysTimeoutMs)] : []),
  ]

  try {
    const response = await fetchBounded(
      url,
      { ...options, signal: AbortSignal.any(signals) },
      maxKeysBytes,
    )

    const body = await response.text()
    if (!response.ok || !Array.isArray(JSON.parse(body).keys))
      throw new Error('The response holds no keys.')

    keyCopies.set(name, { body, fetchedAt: performance.now() })

    return new Response(body, response)
  } catch (error) {
    if (!isUsable)
      throw new SignInRejected('provider_keys', 'temporarily_unavailable', error)
    const failed = { connection: slug, check: 'provider_keys' }
    log.warn(failed, 'the keys of a provider could not be fetched: the last ones serve')
    return Response.json(JSON.parse(copy.body))
  }
}

/**
 * Returns a response without the members of its JSON that are null. Some providers send
 * null for a missing value, which the library rejects.
 */
async function withoutNulls(response: Response): Promise<Response> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)

  if (typeof body !== 'object' || body === null) return response

  const present = Object.entries(body).filter(([, value]) => value !== null)
  return new Response(JSON.stringify(Object.fromEntries(present)), response)
}

const unreadResponses = {
  size: 'provider_response_size',
  encoding: 'provider_response_encoding',
}

function fetchFromProvider(maxBytes: number): CustomFetch {
  return async (url, options) => {
    try {
      return await fetchBounded(url, options as RequestOptions, maxBytes)
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') throw error
      const check =
        error instanceof ResponseRejected
          ? unreadResponses[error.reason]
          : 'provider_unreachable'
      throw new SignInRejected(check, 'temporarily_unavailable', error)
    }
  }
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
