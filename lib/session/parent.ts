import { Prisma } from '../database/prisma'
import { isUnexpired } from '../database/unexpired'

/**
 * Returns a condition: whether a session may be used as far as its parent decides. `parentId` is a column. It is null,
 * or names a session that has not ended.
 */
export function isParentLive(parentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${parentId} IS NULL
    OR (SELECT revoked_at IS NULL AND ${isUnexpired} FROM sessions AS parent WHERE parent.id = ${parentId}))`
}
