import { type CodeBounds, issueSsoCode } from '../code/issue'
import { prisma } from '../database/prisma'
import { isSameSubject, type Subject } from './identity'
import { SignInRejected } from './rejection'

type Bounds = Omit<CodeBounds, 'connectionId'>

/**
 * Issues a code for the user of an identity. It works only while the connection is enabled
 * and the user is linked. Throws SignInRejected if the user is no longer linked.
 */
export async function issueIdentityCode(
  userId: string,
  connectionId: string,
  identity: Subject,
  bounds: Bounds = {},
): Promise<{ secret: string; expiresAt: Date }> {
  const code = await issueSsoCode(userId, { ...bounds, connectionId })

  // A second statement sees an `unlink` for which the insert waited. A later `unlink`
  // deletes the code.
  const linked = await prisma().identity.findFirst({
    where: { userId, connectionId, issuer: identity.issuer },
    select: { subject: true },
  })

  if (!linked || !isSameSubject(identity, linked.subject))
    throw new SignInRejected('identity_unlinked', 'attempt_invalid')

  return code
}
