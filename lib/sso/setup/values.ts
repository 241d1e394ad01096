import { prisma } from '../../database/prisma'
import type { ConnectionSettings } from '../connection'
import type { UncountedConnection } from '../manage/connections'
import type { Secrets } from '../secrets'
import { SetupProblem } from './problem'

/**
 * What the holder has entered. For a renewal, only the secret, or metadata of the same
 * provider. A missing secret does not change.
 */
export type EnteredValues =
  | {
      protocol: 'oidc'
      issuer?: string | undefined
      clientId?: string | undefined
      clientSecret?: string | undefined
    }
  | { protocol: 'saml'; metadata: Buffer }

/** `secrets` is null if they stay. `notes` are for the holder. */
export type NewValues = {
  settings: ConnectionSettings
  secrets: Secrets | null
  notes: string[]
}

/**
 * Throws if users are linked at another issuer: their subjects belong to it. Only an
 * operator can move them.
 */
export async function demandSameIssuer(
  connection: UncountedConnection | null,
  issuer: string,
): Promise<void> {
  if (!connection || connection.settings.issuer === issuer) return

  const linked = await prisma().identity.findFirst({
    where: { connectionId: connection.id },
    select: { subject: true },
  })
  if (linked || !connection.disabledAt)
    throw new SetupProblem(
      `Users already sign in with ${connection.settings.issuer}. To change it to ${issuer}, ask your contact.`,
    )
}
