import { z } from 'zod'
import { ProviderUrl } from '../provider-url'

const certificate = z.string().startsWith('-----BEGIN CERTIFICATE-----')

export const SamlSettings = z.strictObject({
  kind: z.literal('saml'),
  /** The provider's entity ID (SAML Core §8.3.6), which is not necessarily a URL. */
  issuer: z.string().min(1).max(1024),
  ssoUrl: ProviderUrl,
  /** A signature by any of them is accepted, so that the provider can change its key. PEM. */
  certificates: z.array(certificate).min(1).max(10),
  /** What the provider has to sign. `either` is the least that SAML allows. */
  signed: z.enum(['either', 'response', 'assertion', 'both']),
  signRequests: z.boolean(),
  /** The certificate of our key pair, which signs our requests, and for which the provider may encrypt. PEM. */
  certificate,
  /** The certificate of our second key pair, until the first one is dropped. */
  nextCertificate: certificate.optional(),
  /** The attribute with the email address, if it is not one of the usual ones. */
  emailAttribute: z.string().min(1).max(255).optional(),
})

export type SamlSettings = z.output<typeof SamlSettings>
