import type { ServerMetadata } from 'openid-client'
import { log } from '../../log/log'
import { clockToleranceSeconds } from '../clock'
import type { OidcConnection } from '../connection'
import { pickSoleAddress } from '../email'
import type { Ask } from '../next-sign-in'
import type { ProviderSignIn } from '../provider'
import { SignInRejected } from '../rejection'
import type { Trace } from '../trace'
import { ssoUrl } from '../urls'
import { discoverTraced, loadDiscovery } from './discovery'
import { oidcRejection, readProviderError } from './rejection'
import { isEntra, isGoogle, type OidcSettings, requestedScope } from './settings'

const registeredAmr =
  'face fpt geo hwk iris kba mca mfa otp pin pwd rba retina sc sms swk tel user vbm wia'.split(
    ' ',
  )
// OpenID Connect Core §2, without NUL and lone surrogates, which PostgreSQL can't store.
const subjectPattern = /^[^\0\p{Surrogate}]{1,255}$/u
type OidcSignIn = ProviderSignIn<OidcConnection>

export const authorize: OidcSignIn['authorize'] = async (connection, secrets, ask) => {
  const client = await import('openid-client')
  const { configuration, metadata } = await loadDiscovery(connection)
  const prompt = ask && choosePrompt(ask, metadata)

  const parameters = {
    ...connection.settings.authorizationParameters,
    redirect_uri: ssoUrl(connection.slug, 'callback'),
    scope: requestedScope(connection.settings),
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
export function choosePrompt(
  ask: Ask,
  { issuer, prompt_values_supported: listed }: ServerMetadata,
): string | undefined {
  let unlisted = ['login']
  if (isGoogle(issuer)) unlisted = ['select_account']
  else if (isEntra(issuer)) unlisted = ['select_account', 'login']

  const supported = Array.isArray(listed) ? listed : unlisted
  const wanted =
    ask === 'account' ? ['select_account', 'login'] : ['login', 'select_account']

  return wanted.find((value) => supported.includes(value))
}

export const authenticate: OidcSignIn['authenticate'] = async (
  connection,
  fields,
  secrets,
  trace,
) => {
  const client = await import('openid-client')
  const { configuration, metadata } = trace
    ? await discoverTraced(connection, trace)
    : await loadDiscovery(connection)
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
    trace?.({ isVerified: true })
    checkAudience(claims, connection.settings)

    const { iss: issuer, sub } = claims
    const subject = isEntra(issuer) ? claims.oid : sub
    if (typeof subject !== 'string' || !subjectPattern.test(subject))
      throw new SignInRejected('id_token_sub', 'response_invalid')

    const identity = { issuer, subject }
    checkTenant(claims, connection.settings, identity)

    const userInfo = () => client.fetchUserInfo(configuration, tokens.access_token, sub)
    const contact = () => readContact(claims, userInfo, metadata, connection, trace)

    return {
      identity,
      contact,
      account: accountIn(claims),
      amr: readAmr(claims),
      issuedAt: readIssuedAt(claims),
      providerSession: readProviderSession(claims.sid),
    }
  } catch (error) {
    throw oidcRejection(error)
  }
}

type Claims = Record<string, unknown>
type UserInfo = () => Promise<Claims>

/** Makes the checks that openid-client does not make. */
function checkAudience({ azp, iat }: Claims, { clientId }: OidcSettings): void {
  // openid-client checks azp only if there are several audiences
  if (azp !== undefined && azp !== clientId)
    throw new SignInRejected('id_token_azp', 'response_invalid')
  if (Number(iat) > Date.now() / 1000 + clockToleranceSeconds)
    throw new SignInRejected('id_token_iat', 'response_invalid')
}

function checkTenant(
  claims: Claims,
  { tenants }: OidcSettings,
  identity: { issuer: string; subject: string },
): void {
  if (!tenants || tenants.some((tenant) => isSameId(tenant, claims.tid))) return

  const rejection = new SignInRejected('id_token_tid', 'no_access')
  rejection.account = accountIn(claims)
  rejection.identity = identity
  throw rejection
}

function isSameId(one: string, other: unknown): boolean {
  return one.toLowerCase() === String(other).toLowerCase()
}

/**
 * Returns the `amr` values: how the user authenticated. Returns null unless all values
 * are registered (RFC 8176).
 */
function readAmr({ amr }: Claims): string[] | null {
  if (!Array.isArray(amr) || amr.length === 0) return null
  if (!amr.every((value) => registeredAmr.includes(value))) return null

  return [...new Set<string>(amr)]
}

/** Returns the ID of the session at the provider, which its logout tokens name. */
export function readProviderSession(sid: unknown): string | null {
  return typeof sid === 'string' && subjectPattern.test(sid) ? sid : null
}

/** Returns when the ID token was issued. Entra ID sets `iat` back by five minutes. */
function readIssuedAt({ iss, iat }: Claims): Date | undefined {
  return isEntra(String(iss)) ? undefined : new Date(Number(iat) * 1000)
}

/**
 * Returns the account name at the provider. Entra ID and ADFS send only
 * `preferred_username` or `upn`.
 */
function accountIn(claims: Claims): string | undefined {
  const names = ['email', 'preferred_username', 'upn']
  return names.flatMap((name) => addressesIn(claims, name))[0]
}

/**
 * Reads the email from the ID token, or else from user info. Some providers send it, or
 * whether it is verified, only there (Core §5.4).
 */
async function readContact(
  idToken: Claims,
  userInfo: UserInfo,
  metadata: ServerMetadata,
  { slug, settings }: OidcConnection,
  trace?: Trace,
) {
  const { issuer, userinfo_endpoint: endpoint } = metadata
  const { emailClaim = 'email', trustClaim, tenantDomains, requireVerified } = settings
  const hasAddress = addressesIn(idToken, emailClaim).length > 0

  // `email_verified` is only about the claim `email`
  const hasVerdict = idToken.email_verified !== undefined || emailClaim !== 'email'

  const documents = [idToken]
  if (endpoint && (!hasAddress || (requireVerified && !hasVerdict)))
    documents.push(await readUserInfo(userInfo))
  else if (endpoint && !hasVerdict)
    documents.push(await readFurtherUserInfo(userInfo, slug, trace))

  const { email, isVerified } = readEmail(documents, emailClaim)
  const isAffirmed =
    !requireVerified || documents.some((claims) => isAffirmative(claims.email_verified))
  if (settings.emailClaim && !trustClaim)
    throw new SignInRejected('email_claim_untrusted', 'no_access')

  const domains = tenantDomains?.[String(idToken.tid).toLowerCase()] ?? []
  const hostedDomain = typeof idToken.hd === 'string' ? idToken.hd : null

  return {
    email,
    isVerified: isVerified && isAffirmed,
    ...(tenantDomains && { domains }),
    ...(isGoogle(issuer) && { hostedDomain }),
  }
}

async function readUserInfo(userInfo: UserInfo): Promise<Claims> {
  try {
    return await userInfo()
  } catch (error) {
    throw oidcRejection(error, 'user_info')
  }
}

/** Returns no claims if the user info can't be read: the ID token has an address. */
async function readFurtherUserInfo(
  userInfo: UserInfo,
  slug: string,
  trace?: Trace,
): Promise<Claims> {
  try {
    return await readUserInfo(userInfo)
  } catch (error) {
    if (trace) return {}

    const failed = { connection: slug, check: (error as SignInRejected).check }
    log.warn(failed, 'the user info could not be read: the ID token alone is used')
    return {}
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
  return claim === undefined || isAffirmative(claim)
}

function isAffirmative(claim: unknown): boolean {
  return claim === true || (typeof claim === 'string' && /^\s*true\s*$/i.test(claim))
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
export function readEmail(
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

  return { email: pickSoleAddress(given ?? [], others), isVerified }
}

export const oidcSignIn: OidcSignIn = {
  response: 'query',
  readError: readProviderError,
  authorize,
  authenticate,
}
