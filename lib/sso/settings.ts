import { z } from 'zod'
import { isLoopback } from '../settings/env'
import { isHttps } from '../settings/https'

const entraHost = 'login.microsoftonline.com'
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u // line breaks, escapes, changes of direction
const noInvisible = 'must contain no control or invisible characters'
// Everybody with a personal Microsoft account is a member of this tenant.
const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad'
const googleIssuer = 'https://accounts.google.com'

const url = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
  // As for PUBLIC_URL: http only where there is no network. A service with https has one.
  .refine((value) => /^https:/i.test(value) || (!isHttps() && isLoopback(hostOf(value))), 'must begin with https://')

const issuer = url
  .refine((value) => !/[?#]/.test(value), 'must not contain ? or #')
  .refine((value) => !value.includes('/.well-known/'), 'must be the issuer, not the URL of its metadata')

const OidcSettings = z
  .strictObject({
    kind: z.literal('oidc'),
    issuer,
    clientId: z.string().min(1).max(255),
    /** The tenants of Entra ID that may sign in, for an issuer that serves several. */
    tenants: z.array(z.guid()).min(1).optional(),
  })
  .refine(({ issuer, tenants }) => tenants || !isEntra(issuer) || namesTenant(issuer), {
    path: ['tenants'],
    error: 'must list the tenants that may sign in, because anybody can have a tenant there',
  })

const certificate = z.string().startsWith('-----BEGIN CERTIFICATE-----')

const SamlSettings = z.strictObject({
  kind: z.literal('saml'),
  /** The provider's entity ID (SAML Core §8.3.6), which is not necessarily a URL. */
  issuer: z.string().min(1).max(1024),
  ssoUrl: url,
  /** A signature by any of them is accepted, so that the provider can change its key. PEM. */
  certificates: z.array(certificate).min(1).max(10),
  /** What the provider has to sign. `either` is the least that SAML allows. */
  signed: z.enum(['either', 'response', 'assertion', 'both']),
  signRequests: z.boolean(),
  /** Of the key pair that signs our requests, and for which the provider may encrypt. PEM. */
  certificate,
  /** The attribute with the e-mail address, if it is none of the usual ones. */
  emailAttribute: z.string().min(1).max(255).optional(),
})

/** The settings of a connection, by the kind of its identity provider. */
export const ConnectionSettings = z.discriminatedUnion('kind', [OidcSettings, SamlSettings])

/** As ConnectionSettings, for what an operator enters: nothing that a terminal or a reader takes for something else. */
export const NewConnectionSettings = ConnectionSettings.superRefine((settings, { addIssue }) => {
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== 'string' || name === 'certificate') continue
    if (invisible.test(value)) addIssue({ code: 'custom', path: [name], message: noInvisible })
    const isUrl = name === 'ssoUrl' || (name === 'issuer' && settings.kind === 'oidc') // an entity ID is just a name
    if (isUrl && URL.canParse(value) && (new URL(value).username || new URL(value).password))
      addIssue({ code: 'custom', path: [name], message: 'must contain no user name and no password' })
  }
})

/** The label of a connection's button, as an operator enters it. */
export const NewConnectionName = z
  .string()
  .trim()
  .min(1, 'must have at least one character')
  .max(100, 'must have at most 100 characters')
  .refine((name) => !invisible.test(name), noInvisible)

export type ConnectionSettings = z.output<typeof ConnectionSettings>
export type OidcSettings = z.output<typeof OidcSettings>
export type SamlSettings = z.output<typeof SamlSettings>

/** Whether the issuer is Entra ID, whose `sub` differs per app and whose `oid` is the user. */
export function isEntra(issuer: string): boolean {
  return hostOf(issuer) === entraHost
}

/** Whether the issuer is Google, where a private account can have a company's e-mail address. */
export function isGoogle(issuer: string): boolean {
  return issuer === googleIssuer
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}

/**
 * Whether an issuer of Entra ID names one organization by its tenant ID. Every other name may serve
 * several tenants, and has many spellings: `common`, `//Common`, `%63ommon`.
 */
function namesTenant(issuer: string): boolean {
  const tenant = new URL(issuer).pathname.split('/').find((segment) => segment !== '') ?? ''
  return z.guid().safeParse(tenant).success && tenant.toLowerCase() !== personalTenant
}
