import { Prisma, prisma } from '../database/prisma'
import { revokeSessions } from '../session/revoke'

/**
 * Ends a session of a client. The browser's session and those of other clients continue.
 * Returns false, and changes nothing, if it is the session of a browser or of another
 * client.
 */
export async function revokeClientSession(
  clientId: string,
  sessionId: string,
): Promise<boolean> {
  const isOwn = Prisma.sql`client_id IS NOT DISTINCT FROM ${clientId}::uuid`
  const revoked = revokeSessions(Prisma.sql`id = ${sessionId}::uuid AND ${isOwn}`)

  const [session] = await prisma().$queryRaw<{ isOwn: boolean }[]>`
    WITH ${revoked}
    SELECT ${isOwn} AS "isOwn" FROM sessions WHERE id = ${sessionId}::uuid`

  return session?.isOwn ?? true // a session without a row has ended long ago
}
