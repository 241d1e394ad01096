import { UsageError } from '../../usage-error'
import { isSaml } from '../connection'
import { checkEntered } from '../manage/settings-as-entered'
import { readProviderMetadata } from '../saml/provider-metadata'
import { SamlSettings } from '../saml/settings'
import { decryptSecrets, type Secrets } from '../secrets'
import { decryptDraftSecrets } from './draft'
import { SetupProblem } from './problem'
import type { Target } from './target'
import { demandSameIssuer, type NewValues } from './values'

export const maxMetadataBytes = 256 * 1024

/**
 * Returns the settings of a SAML provider from its metadata. Our key pair stays. Throws
 * SetupProblem.
 */
export async function readSamlValues(
  target: Target,
  metadata: Buffer,
): Promise<NewValues> {
  if (metadata.length > maxMetadataBytes)
    throw new SetupProblem('This file is too large: it has more than 256 KiB.')

  const { connection, draft } = target
  const stored = connection && isSaml(connection) ? connection.settings : null

  try {
    const found = readProviderMetadata(metadata, stored?.certificates)
    const { entityId: issuer, ssoUrl, certificates, wantsSignedRequests, notes } = found
    await demandSameIssuer(connection, issuer)

    const settings = checkEntered(
      SamlSettings,
      {
        signed: 'either',
        signRequests: false,
        ...(draft ? { certificate: draft.certificate } : stored),
        ...(wantsSignedRequests && { signRequests: true }),
        kind: 'saml',
        issuer,
        ssoUrl,
        certificates,
        publicOnly: true,
      },
      (setting) => labels[setting] ?? setting,
    )

    return { settings, secrets: await readKeys(target), notes }
  } catch (error) {
    if (error instanceof UsageError) throw new SetupProblem(error.message)
    throw error
  }
}

const labels: Record<string, string> = {
  issuer: 'The entityID',
  ssoUrl: 'The sign-on endpoint',
}

/** Encrypted again with the new settings, to which they are bound. */
async function readKeys({ connection, draft }: Target): Promise<Secrets> {
  return connection ? decryptSecrets(connection) : decryptDraftSecrets(draft)
}
