import type { Configuration, ServerMetadata } from 'openid-client'
import { toAsciiDomain } from '../../contract/email-address'
import { newSecret } from '../../crypto/token'
import { UsageError } from '../../usage-error'
import type { OidcConnection } from '../connection'
import {
  checkEntered,
  explainOtherIssuer,
  publicOnlyLine,
} from '../manage/settings-as-entered'
import type { Flags, ProviderSetup } from '../provider'
import { SignInRejected, advice as signInAdvice } from '../rejection'
import { ssoUrl } from '../urls'
import { checkKeys, discover } from './discovery'
import { oidcRejection } from './rejection'
import { OidcSettings, requestedScope, separatesTenants } from './settings'

type OidcSetup = ProviderSetup<OidcConnection>

const describe: OidcSetup['describe'] = ({ slug, settings }) => {
  const { clientId, tenants = [], tokenAuth, emailClaim, trustClaim } = settings
  const lines = [`client ID: ${clientId}`]
  for (const tenant of tenants)
    lines.push(
      `tenant: ${tenant}, which vouches for ${describeDomains(settings, tenant)}`,
    )

  if (tokenAuth) lines.push(`client authentication: client_secret_${tokenAuth}`)
  if (emailClaim)
    lines.push(
      `email claim: ${emailClaim}, which links and creates ${trustClaim ? 'users' : 'nobody'}`,
    )

  if (settings.requireVerified)
    lines.push('email address: only with email_verified: true')
  for (const [name, value] of Object.entries(settings.authorizationParameters ?? {}))
    lines.push(`authorization parameter: ${name}=${value}`)

  if (settings.publicOnly) lines.push(publicOnlyLine)

  return {
    settings: lines,
    entries: {
      'application type': 'Web application (confidential), authorization code flow',
      'redirect URI': ssoUrl(slug, 'callback'),
      'initiate login URI': ssoUrl(slug, 'start'),
      scopes: requestedScope(settings).replaceAll(' ', ', '),
      PKCE: 'S256, if it asks',
    },
  }
}

function describeDomains(settings: OidcSettings, tenant: string): string {
  const domains = settings.tenantDomains?.[tenant.toLowerCase()]
  if (domains) return domains.join(', ')

  return separatesTenants(settings) ? 'all domains' : 'no domain'
}

const advice: Partial<Record<string, string>> = {
  ...signInAdvice,
  secrets:
    'The client secret can’t be decrypted: ENCRYPTION_KEY has changed. If its earlier value is lost: npm run connections -- update SLUG < SECRET',
  discovery_issuer:
    'The metadata names another issuer. Compare --issuer with “issuer” there, to the last slash.',
  discovery_metadata:
    'The metadata lacks an authorization endpoint, a token endpoint, or the keys.',
  discovery_response:
    'There is no metadata below the issuer, at /.well-known/openid-configuration. Redirects are not followed: if a browser shows the metadata, use the issuer that it names.',
  provider_keys: 'The keys (jwks_uri) can’t be fetched. Redirects are not followed.',
  provider_timeout: 'The provider did not respond within 5 seconds.',
  provider_unreachable:
    'The provider can’t be reached from here: check the URL, DNS, the firewall, the proxy and the certificate.',
  provider_address:
    'The host has no public address. A setup link entered it, so requests lead to public addresses only. To allow it: npm run connections -- update SLUG --issuer ISSUER',
  provider_response_size: 'The metadata has more than 32 KiB.',
  provider_response_encoding:
    'The provider compresses its responses, although the request accepts none that are.',
  provider_http: 'The metadata has URLs with http.',
}

const check: OidcSetup['check'] = async (connection) => {
  try {
    const { metadata, outcome } = await probeProvider(connection)
    const names = `the provider responds, and names itself ${metadata.issuer}.`
    const isAccepted = outcome === 'token_invalid_grant'

    return {
      summary: isAccepted ? `${names} It accepts the client secret.` : names,
      problems: [
        ...findProblems(connection.settings, metadata, outcome),
        ...describeLogout(connection, metadata),
      ],
    }
  } catch (error) {
    if (!(error instanceof SignInRejected)) throw error
    throw new Error(
      `${connection.slug}: ${error.check}. ${advice[error.check] ?? 'The metadata can’t be used.'}`,
    )
  }
}

/**
 * Sends the requests of a sign-in that need no user. Returns the metadata, and the check
 * that an invalid code failed. Throws SignInRejected.
 */
export async function probeProvider(
  connection: OidcConnection,
): Promise<{ metadata: ServerMetadata; outcome: string }> {
  const { metadata, configuration } = await discover(connection)
  await checkKeys(connection, metadata)

  return { metadata, outcome: await sendTestGrant(connection, configuration) }
}

// Keycloak sends the second one for a wrong secret.
const rejectedClient = ['token_invalid_client', 'token_unauthorized_client']

/**
 * Sends an invalid code. Returns the check that failed. A provider authenticates the
 * client before it checks the code. Throws SignInRejected if it rejects the client.
 */
async function sendTestGrant(
  { slug }: OidcConnection,
  configuration: Configuration,
): Promise<string> {
  const { genericGrantRequest } = await import('openid-client')
  const grant = {
    code: newSecret(),
    code_verifier: newSecret(),
    redirect_uri: ssoUrl(slug, 'callback'),
  }

  try {
    await genericGrantRequest(configuration, 'authorization_code', grant)
  } catch (error) {
    const rejection = oidcRejection(error)
    if (rejectedClient.includes(rejection.check)) throw rejection
    return rejection.check
  }

  return 'token_response'
}

/** Returns what may prevent sign-ins, although the provider responds. */
export function findProblems(
  { emailClaim }: OidcSettings,
  metadata: ServerMetadata,
  outcome: string,
): string[] {
  const {
    code_challenge_methods_supported: challenges,
    scopes_supported: scopes,
    id_token_signing_alg_values_supported: algorithms,
  } = metadata

  const problems: string[] = []
  if (outcome !== 'token_invalid_grant')
    problems.push(
      `Whether the client secret is right is unknown: a test request ended with ${outcome}.`,
    )
  if (challenges && !challenges.includes('S256'))
    problems.push('It does not announce PKCE with S256.')
  if (!emailClaim && scopes && !scopes.includes('email'))
    problems.push(
      'It does not announce the scope email: if it sends no email address, nobody can be linked.',
    )
  if (Array.isArray(algorithms) && algorithms.every(isWithoutKey))
    problems.push(
      `It signs ID tokens only with ${algorithms.join(', ')}: choose an RSA or EC key there.`,
    )

  return problems
}

/** Returns the URL to enter at a provider that can tell us when its sessions end. */
function describeLogout({ slug }: OidcConnection, metadata: ServerMetadata): string[] {
  if (!metadata.backchannel_logout_supported) return []

  return [
    `It supports back-channel logout. Enter there: ${ssoUrl(slug, 'backchannel-logout')}`,
  ]
}

/** Whether everybody who knows the client secret, or anybody, can create a signature. */
function isWithoutKey(algorithm: unknown): boolean {
  return /^(?:HS\d+|none)$/.test(String(algorithm))
}

const readIssuer: OidcSetup['readIssuer'] = async (connection) => {
  const { slug } = connection

  let issuer: string
  try {
    const { metadata } = await discover(connection)
    issuer = metadata.issuer
  } catch (cause) {
    const command = `npm run connections -- check ${slug}`
    throw new Error(`The metadata of ${slug} can’t be used: ${command}`, { cause })
  }

  if (issuer.includes('{tenantid}'))
    throw new UsageError(
      `${slug} has several tenants: pass the --issuer of the subject, ${issuer}`,
    )

  return issuer
}

const add: OidcSetup['add'] = {
  description:
    'adds an OpenID provider, whose --issuer and --client-id are required. Reads the client secret from stdin (< SECRET), and prints what to enter at the provider',
  flags: {
    issuer: {
      value: 'url',
      text: 'its issuer, which update changes only with --same-users',
    },
    'client-id': {
      value: 'id',
      text: 'the client ID that the provider gave to this app. With update, reads its secret from stdin',
    },
    tenant: {
      value: 'id',
      repeats: true,
      text: 'a tenant of Entra ID that may sign in; required unless the issuer has a tenant ID. Several need the domains for which each vouches: --tenant ID=DOMAIN,DOMAIN. With update, replaces the list',
    },
    'token-auth': {
      value: 'what',
      text: 'post or basic: how the client authenticates, if it must be only one of them',
    },
    'email-claim': {
      value: 'name',
      text: 'the claim with the email address, if it is not email; it does not link or create users',
    },
    'trust-claim': {
      text: 'lets that claim link and create users: only if users can’t edit it at the provider',
    },
    'require-verified': {
      text: 'links and creates users only if email_verified is true; by default, a missing claim counts as true',
    },
    'authorization-parameter': {
      value: 'name=value',
      repeats: true,
      text: 'a parameter that the provider needs in the authorization request; repeat it for several. With update, adds one; NAME= removes it',
    },
    'new-secret': {
      text: 'with update, reads a client secret from stdin, as do --client-id and no flag at all',
    },
  },
  async settingsFrom({ slug, domains, stored }, flags, read) {
    const settings = readSettings(slug, flags, stored)
    checkTenants(settings, domains)

    const isOtherClient = stored && settings.clientId !== stored.clientId
    const keepsSecret =
      stored && !isOtherClient && !flags['new-secret'] && Object.keys(flags).length > 0
    if (keepsSecret) return { settings, secrets: null, notes: [] }

    const clientSecret = await readClientSecret(read)
    return { settings, secrets: { clientSecret }, notes: isOtherClient ? [pairwise] : [] }
  },
}

function readSettings(
  slug: string,
  flags: Flags,
  stored: OidcSettings | undefined,
): OidcSettings {
  const readText = (flag: string) =>
    flags[flag] === undefined ? undefined : String(flags[flag]).trim()
  const issuer = readText('issuer') ?? stored?.issuer
  const clientId = readText('client-id') ?? stored?.clientId
  if (!issuer || !clientId) throw new UsageError('--issuer and --client-id are required.')
  if (stored && issuer !== stored.issuer && !flags['same-users'])
    throw new UsageError(
      explainOtherIssuer({ slug, stored, issuer }, `--issuer ${issuer}`),
    )

  // the trust in one claim does not apply to another claim
  const trusted = flags['email-claim'] === undefined ? stored?.trustClaim : undefined
  const given = {
    kind: 'oidc',
    issuer,
    clientId,
    ...(flags.tenant === undefined
      ? { tenants: stored?.tenants, tenantDomains: stored?.tenantDomains }
      : parseTenants([flags.tenant].flat().map(String))),
    tokenAuth: readText('token-auth')?.toLowerCase() ?? stored?.tokenAuth,
    emailClaim: readText('email-claim') ?? stored?.emailClaim,
    trustClaim: (flags['trust-claim'] ?? trusted) || undefined,
    // operators may name a provider in their own network
    publicOnly: flags.issuer === undefined ? stored?.publicOnly : undefined,
    requireVerified: (flags['require-verified'] ?? stored?.requireVerified) || undefined,
    authorizationParameters: readParameters(
      [flags['authorization-parameter'] ?? []].flat().map(String),
      stored?.authorizationParameters,
    ),
  }

  const isGiven = ([, value]: [string, unknown]) =>
    value !== undefined && !(stored && value === '')

  return checkEntered(
    OidcSettings,
    Object.fromEntries(Object.entries(given).filter(isGiven)),
    nameFlag,
  )
}

/** Parses values of the form NAME=VALUE, and adds them to the stored ones. */
function readParameters(
  given: string[],
  stored: Record<string, string> = {},
): Record<string, string> | undefined {
  const parameters = new Map(Object.entries(stored))

  for (const text of given) {
    const [, name, value = ''] = /^\s*([A-Za-z][\w.-]*)\s*=(.*)$/s.exec(text) ?? []
    if (!name) throw new UsageError('--authorization-parameter must be NAME=VALUE.')

    if (value === '' && parameters.delete(name)) continue
    parameters.set(name, value)
  }

  return parameters.size > 0 ? Object.fromEntries(parameters) : undefined
}

/** Each tenant may vouch only for domains of the connection. */
function checkTenants(settings: OidcSettings, domains: string[]): void {
  if (!separatesTenants(settings))
    throw new UsageError(
      '--tenant must name the domains of each of several tenants: --tenant ID=DOMAIN,DOMAIN',
    )

  const named = Object.values(settings.tenantDomains ?? {}).flat()
  const missing = named.find((domain) => !domains.includes(domain))
  if (missing !== undefined)
    throw new UsageError(`--tenant: ${missing} is not a domain of the connection.`)
}

async function readClientSecret(
  read: (source: string) => Promise<Buffer>,
): Promise<string> {
  if (process.stdin.isTTY)
    console.error('Paste the client secret, press Enter, then Ctrl-D:')

  const clientSecret = (await read('-')).toString().trim()
  if (!clientSecret || /\s/.test(clientSecret))
    throw new UsageError('Pass the client secret on stdin, alone.')

  return clientSecret
}

/** Parses values of the form ID or ID=DOMAIN,DOMAIN. */
function parseTenants(given: string[]): Pick<OidcSettings, 'tenants' | 'tenantDomains'> {
  const domainsByTenant = new Map<string, string[]>()

  for (const text of given) {
    const [id, list] = text.split('=')
    const tenant = id!.trim().toLowerCase()
    const domains = list?.split(',').map(readDomain) ?? []
    const known = domainsByTenant.get(tenant) ?? []
    domainsByTenant.set(tenant, [...known, ...domains])
  }

  const entries = [...domainsByTenant].filter(([, domains]) => domains.length > 0)

  return {
    tenants: [...domainsByTenant.keys()],
    ...(entries.length > 0 && { tenantDomains: Object.fromEntries(entries) }),
  }
}

function readDomain(text: string): string {
  return toAsciiDomain(text.trim()) ?? text
}

const pairwise = `A provider can name its users differently to each client (the oid of Entra ID stays). Then their sign-ins end with
identity_other_subject. Try one now: the earlier client ID, with its secret, undoes this.`

function nameFlag(setting: string): string {
  if (setting === 'tenants') return '--tenant'
  if (setting === 'authorizationParameters') return '--authorization-parameter'

  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

export const oidcSetup: OidcSetup = { describe, check, readIssuer, add }
