import { UsageError } from '../../usage-error'
import type { Connection } from '../connection'
import { loadSetup } from '../kinds'
import type { Entered } from '../provider'
import { createBinding, decryptSecrets, encryptSecrets, type Secrets } from '../secrets'

/**
 * Returns settings and secrets for the new issuer. For OpenID Connect, fetches the metadata
 * and takes the issuer that it names, as the ID tokens do. Throws if the metadata can't be
 * used, and UsageError if the issuer serves several tenants.
 */
export async function prepareMove<Change extends Entered>(
  before: Connection,
  entered: Change,
): Promise<Change & { secrets: Secrets }> {
  const { slug, settings: old } = before
  if (old.kind === 'oidc' && (old.tenants?.length ?? 0) > 1)
    throw new UsageError(`${slug} has several tenants: --same-users can’t move it.`)

  // the issuer is part of what the secrets are bound to
  const secrets = entered.secrets ?? (await decryptSecrets(before))
  const { id } = before
  const moved = {
    ...before,
    settings: entered.settings,
    encryptedSecrets: await encryptSecrets(
      secrets,
      createBinding({ id, settings: entered.settings }),
    ),
  }

  const issuer = await (await loadSetup(moved)).readIssuer(moved)

  return { ...entered, secrets, settings: { ...entered.settings, issuer } }
}
