import { domainInAscii } from '../../contract/email-address'
import { newSecret } from '../../crypto/token'
import { UsageError } from '../../usage-error'
import type { OidcConnection } from '../connection'
import { checkEntered } from '../manage/settings-as-entered'
import type { Provider } from '../provider'
import { SignInRejected, advice as signInAdvice } from '../rejection'
import { ssoUrl } from '../urls'
import { oidcRejection } from './rejection'
import { OidcSettings, separatesTenants } from './settings'
import { authenticate, authorize, discover } from './sign-in'

type OidcProvider = Provider<OidcConnection>

const describe: OidcProvider['describe'] = ({ slug, settings }) => ({
  settings: [
    `client ID: ${settings.clientId}`,
    ...(settings.tenants ?? []).map(
      (tenant) => `tenant: ${tenant}, which vouches for ${domainsOf(settings, tenant)}`,
    ),
    ...(settings.tokenAuth
      ? [`client authentication: client_secret_${settings.tokenAuth}`]
      : []),
    ...(settings.emailClaim
      ? [
          `email claim: ${settings.emailClaim}, which links and creates ${settings.trustClaim ? 'users' : 'nobody'}`,
        ]
      : []),
  ],
  entries: {
    'application type': 'Web application (confidential), authorization code flow',
    'redirect URI': ssoUrl(slug, 'callback'),
    'initiate login URI': ssoUrl(slug, 'start'),
    scopes: 'openid, email, profile',
    PKCE: 'S256, if it asks',
  },
})

function domainsOf(settings: OidcSettings, tenant: string): string {
  const domains = settings.tenantDomains?.[tenant.toLowerCase()]
  return domains?.join(', ') ?? (separatesTenants(settings) ? 'all domains' : 'no domain')
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
    'There is no metadata below the issuer, at /.well-known/openid-configuration.',
  provider_timeout: 'The provider did not respond within 5 seconds.',
  provider_unreachable:
    'The provider can’t be reached from here: check the URL, DNS, the firewall, the proxy and the certificate.',
  provider_response_size: 'The metadata has more than 32 KiB.',
  provider_response_encoding:
    'The provider compresses its responses, although the request accepts none that are.',
  provider_http: 'The metadata has URLs with http.',
}

const check: OidcProvider['check'] = async (connection) => {
  try {
    const { emailClaim } = connection.settings
    const { metadata, configuration } = await discover(connection)
    const { code_challenge_methods_supported: challenges, scopes_supported: scopes } =
      metadata

    // Sends an invalid code. A provider authenticates the client before it checks the
    // code.
    const { genericGrantRequest } = await import('openid-client')
    const grant = {
      code: newSecret(),
      code_verifier: newSecret(),
      redirect_uri: ssoUrl(connection.slug, 'callback'),
    }

    const rejection = await genericGrantRequest(
      configuration,
      'authorization_code',
      grant,
    ).catch(oidcRejection)

    const { check: outcome = 'token_response' } = rejection as Partial<SignInRejected>
    if (outcome === 'token_invalid_client') throw rejection

    const isAccepted = outcome === 'token_invalid_grant'

    return {
      summary: `the provider responds, and names itself ${metadata.issuer}.${isAccepted ? ' It accepts the client secret.' : ''}`,
      problems: [
        ...(isAccepted
          ? []
          : [
              `Whether the client secret is right is unknown: a test request ended with ${outcome}.`,
            ]),
        ...(challenges && !challenges.includes('S256')
          ? ['It does not announce PKCE with S256.']
          : []),
        ...(!emailClaim && scopes && !scopes.includes('email')
          ? ['It does not announce the scope email: nobody can be linked.']
          : []),
      ],
    }
  } catch (error) {
    if (!(error instanceof SignInRejected)) throw error
    throw new Error(
      `${connection.slug}: ${error.check}. ${advice[error.check] ?? 'The metadata can’t be used.'}`,
    )
  }
}

const add: OidcProvider['add'] = {
  usage: `npm run connections -- add oidc SLUG --issuer URL --client-id ID --domain DOMAIN [--domain …] < SECRET
    adds an OpenID provider. Reads the client secret from stdin, and prints what to enter at the provider.
    --tenant ID         a tenant of Entra ID that may sign in; required unless the issuer has a tenant ID. Several
                        need the domains for which each vouches: --tenant ID=DOMAIN,DOMAIN
    --token-auth WHAT   post or basic: how the client authenticates, if it must be only one of them
    --email-claim NAME  the claim with the email address, if it is not email; it does not link or create users
    --trust-claim       lets that claim link and create users: only if users can't edit it at the provider`,
  flags: {
    issuer: { type: 'string' },
    'client-id': { type: 'string' },
    tenant: { type: 'string', multiple: true },
    'token-auth': { type: 'string' },
    'email-claim': { type: 'string' },
    'trust-claim': { type: 'boolean' },
    'new-secret': { type: 'boolean' },
  },
  async settingsFrom({ slug, domains, stored }, flags, read) {
    const textOf = (flag: string) =>
      flags[flag] === undefined ? undefined : String(flags[flag]).trim()
    const issuer = textOf('issuer') ?? stored?.issuer
    const clientId = textOf('client-id') ?? stored?.clientId
    if (!issuer || !clientId)
      throw new UsageError('--issuer and --client-id are required.')
    if (stored && issuer !== stored.issuer)
      throw new UsageError(
        `${slug} is ${stored.issuer}. Another issuer has other users: add it as another connection.`,
      )

    // the trust in one claim does not apply to another claim
    const trusted = flags['email-claim'] === undefined ? stored?.trustClaim : undefined
    const given = {
      kind: 'oidc',
      issuer,
      clientId,
      ...(flags.tenant === undefined
        ? { tenants: stored?.tenants, tenantDomains: stored?.tenantDomains }
        : tenantsFrom([flags.tenant].flat().map(String))),
      tokenAuth: textOf('token-auth')?.toLowerCase() ?? stored?.tokenAuth,
      emailClaim: textOf('email-claim') ?? stored?.emailClaim,
      trustClaim: (flags['trust-claim'] ?? trusted) || undefined,
    }

    const isGiven = ([, value]: [string, unknown]) =>
      value !== undefined && !(stored && value === '')

    const settings = checkEntered(
      OidcSettings,
      Object.fromEntries(Object.entries(given).filter(isGiven)),
      flagOf,
    )

    if (!separatesTenants(settings))
      throw new UsageError(
        '--tenant must name the domains of each of several tenants: --tenant ID=DOMAIN,DOMAIN',
      )

    const ofTenants = Object.values(settings.tenantDomains ?? {}).flat()
    const missing = ofTenants.find((domain) => !domains.includes(domain))
    if (missing !== undefined)
      throw new UsageError(`--tenant: ${missing} is not a domain of the connection.`)

    const isOtherClient = stored && clientId !== stored.clientId
    const keepsSecret =
      stored && !isOtherClient && !flags['new-secret'] && Object.keys(flags).length > 0
    if (keepsSecret) return { settings, secrets: null, notes: [] }
    if (process.stdin.isTTY)
      console.error('Paste the client secret, press Enter, then Ctrl-D:')

    const clientSecret = (await read('-')).toString().trim()
    if (!clientSecret || /\s/.test(clientSecret))
      throw new UsageError('Pass the client secret on stdin, alone.')

    return { settings, secrets: { clientSecret }, notes: isOtherClient ? [pairwise] : [] }
  },
}

/** Parses values of the form ID or ID=DOMAIN,DOMAIN. */
function tenantsFrom(given: string[]): Pick<OidcSettings, 'tenants' | 'tenantDomains'> {
  const pairs = given
    .map((text) => text.split('='))
    .map(([id, list]) => [id!.trim().toLowerCase(), list] as const)
  const tenants = [...new Set(pairs.map(([id]) => id))]
  const domainsOf = (tenant: string) =>
    pairs.flatMap(([id, list]) => (id === tenant && list?.split(',')) || [])
  const inAscii = (text: string) => domainInAscii(text.trim()) ?? text
  const entries = tenants
    .map((id) => [id, domainsOf(id).map(inAscii)] as const)
    .filter(([, { length }]) => length > 0)

  return {
    tenants,
    ...(entries.length > 0 && { tenantDomains: Object.fromEntries(entries) }),
  }
}

const pairwise = `A provider can name its users differently to each client (the oid of Entra ID stays). Then their sign-ins end with
identity_other_subject. Try one now: the earlier client ID, with its secret, undoes this.`

function flagOf(setting: string): string {
  return setting === 'tenants'
    ? '--tenant'
    : `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

export const oidc: OidcProvider = {
  response: 'query',
  authorize,
  authenticate,
  describe,
  check,
  add,
}
