import * as z from 'zod'
import { ProviderUrl, publicOnly, readHost } from '../urls'

const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad' // the tenant of all personal Microsoft accounts

const issuer = ProviderUrl.refine(
  (value) => !/[?#]/.test(value),
  'must not contain ? or #',
).refine(
  (value) => !value.includes('/.well-known/'),
  'must be the issuer, not the URL of its metadata',
)

// The parameters that we set, or that would replace them (RFC 9101), or with which the
// response would not reach us.
const ownParameters =
  'client_id redirect_uri response_type scope state nonce code_challenge code_challenge_method prompt request request_uri response_mode client_secret'.split(
    ' ',
  )

const isEvery = (test: (name: string) => boolean) => (parameters: object) =>
  Object.keys(parameters).every(test)

const authorizationParameters = z
  .record(
    z.string(),
    z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,500}$/u, 'must be NAME=VALUE'),
  )
  .refine(
    isEvery((name) => /^[A-Za-z][\w.-]{0,63}$/.test(name)),
    'must be NAME=VALUE',
  )
  .refine(
    isEvery((name) => !ownParameters.includes(name)),
    `can’t be one of the parameters of the app: ${ownParameters.join(', ')}`,
  )

export const OidcSettings = z
  .strictObject({
    kind: z.literal('oidc'),
    issuer,
    clientId: z
      .string()
      .min(1, 'must have at least one character')
      .max(255, 'must have at most 255 characters'),
    // allowed tenants of Entra ID, for an issuer that serves several
    tenants: z.array(z.guid()).min(1).optional(),
    /**
     * The domains for which a tenant vouches, by tenant ID in lower case. Default: all
     * domains of the connection.
     */
    tenantDomains: z.record(z.guid(), z.array(z.string()).min(1)).optional(),
    /**
     * How the client authenticates. Default: basic, or post if the provider lists its
     * methods without basic.
     */
    tokenAuth: z.enum(['post', 'basic'], { error: 'must be post or basic' }).optional(),
    // the claim with the address, if it is not `email`
    emailClaim: z.string().min(1).max(255).optional(),
    // whether that claim may link and create users, because users can't edit it
    trustClaim: z.boolean().optional(),
    // whether only `email_verified: true` counts, not a missing claim
    requireVerified: z.boolean().optional(),
    // what the provider needs in the authorization request, by name
    authorizationParameters: authorizationParameters.optional(),
    publicOnly,
  })
  .refine(({ issuer, tenants }) => tenants || !isEntra(issuer) || namesTenant(issuer), {
    path: ['tenants'],
    error:
      'must list the tenants that may sign in, because anybody can have a tenant there',
  })
  .refine(({ emailClaim, tenants = [] }) => !emailClaim || tenants.length <= 1, {
    path: ['emailClaim'],
    error:
      'can’t be used with several tenants: one of them could claim addresses of another',
  })
  .refine(({ emailClaim, trustClaim }) => emailClaim || !trustClaim, {
    path: ['trustClaim'],
    error: 'needs --email-claim',
  })
  .refine(({ emailClaim, requireVerified }) => !emailClaim || !requireVerified, {
    path: ['requireVerified'],
    error:
      'can’t be used with --email-claim: email_verified is only about the claim email',
  })

export type OidcSettings = z.output<typeof OidcSettings>

/**
 * Whether each of several tenants has its own domains. Otherwise, one tenant could claim
 * addresses of another.
 */
export function separatesTenants({
  tenants = [],
  tenantDomains = {},
}: OidcSettings): boolean {
  return (
    tenants.length <= 1 || tenants.every((tenant) => tenantDomains[tenant.toLowerCase()])
  )
}

/**
 * Returns the scope of the authorization request. Entra ID sends `oid`, `tid` and `upn` only
 * with `profile`. Another email claim may need it too.
 */
export function requestedScope({ issuer, emailClaim }: OidcSettings): string {
  return isEntra(issuer) || emailClaim ? 'openid email profile' : 'openid email'
}

/**
 * Whether the issuer is Entra ID, where `sub` differs per app, and `oid` identifies the
 * user.
 */
export function isEntra(issuer: string): boolean {
  return readHost(issuer) === 'login.microsoftonline.com'
}

/**
 * Whether the issuer is Google, where a private account can have a company's email
 * address.
 */
export function isGoogle(issuer: string): boolean {
  return issuer === 'https://accounts.google.com'
}

/**
 * Whether an Entra issuer names one tenant by its ID. Other issuers (`common`,
 * `//%63ommon`) may serve several.
 */
export function namesTenant(issuer: string): boolean {
  const tenant =
    new URL(issuer).pathname.split('/').find((segment) => segment !== '') ?? ''
  return z.guid().safeParse(tenant).success && tenant.toLowerCase() !== personalTenant
}
