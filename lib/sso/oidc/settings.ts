import { z } from 'zod'
import { ProviderUrl, readHost } from '../urls'

const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad' // the tenant of all personal Microsoft accounts

const issuer = ProviderUrl.refine(
  (value) => !/[?#]/.test(value),
  'must not contain ? or #',
).refine(
  (value) => !value.includes('/.well-known/'),
  'must be the issuer, not the URL of its metadata',
)

export const OidcSettings = z
  .strictObject({
    kind: z.literal('oidc'),
    issuer,
    clientId: z.string().min(1).max(255),
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
function namesTenant(issuer: string): boolean {
  const tenant =
    new URL(issuer).pathname.split('/').find((segment) => segment !== '') ?? ''
  return z.guid().safeParse(tenant).success && tenant.toLowerCase() !== personalTenant
}
