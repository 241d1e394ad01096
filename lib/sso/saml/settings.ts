import * as z from 'zod'
import { ProviderUrl, publicOnly } from '../urls'

const certificate = z.string().startsWith('-----BEGIN CERTIFICATE-----') // PEM

export const SamlSettings = z.strictObject({
  kind: z.literal('saml'),
  // the provider's entity ID (SAML Core §8.3.6), not necessarily a URL
  issuer: z.string().min(1).max(1024),
  ssoUrl: ProviderUrl,
  // a signature by any of them is valid
  certificates: z.array(certificate).min(1).max(20),
  signed: z.enum(['either', 'response', 'assertion', 'both']), // `either`: SAML requires at least one
  signRequests: z.boolean(),
  certificate, // of our key pair, which signs requests and decrypts assertions
  // of our second key pair, until the first one is dropped
  nextCertificate: certificate.optional(),
  // the format of the NameID that our requests name
  nameIdFormat: z.enum(['persistent', 'emailAddress']).optional(),
  emailAttribute: z.string().min(1).max(255).optional(), // if it is not a common one
  publicOnly,
})

export type SamlSettings = z.output<typeof SamlSettings>

/** The settings that our metadata shows. */
export type PublicSettings = Pick<
  SamlSettings,
  'certificate' | 'nextCertificate' | 'signed' | 'signRequests'
> & { entityId: string; acsUrl: string }

/**
 * All settings, with our private keys (PEM). During a rotation, the next key decrypts
 * too.
 */
export type ServiceProviderSettings = SamlSettings &
  PublicSettings & {
    privateKey: string
    nextPrivateKey?: string | undefined
  }
