import { dateFromEpoch } from '../database/prisma'
import { env } from '../settings/env'
import type { Attributes } from './attributes'

/** The path of this service provider (RFC 7644 §1.3), below PUBLIC_URL. */
export const basePath = '/api/scim/v2'

/** A user of a directory, as stored. `times`: created and updated, in seconds since 1970. */
export type StoredUser = {
  userId: string
  email: string
  isActive: boolean
  externalId: string | null
  userName: string
  givenName: string | null
  familyName: string | null
  displayName: string | null
  times: [number, number]
}

/** Returns a user as a directory gets it (RFC 7643 §4.1). Absent values are left out. */
export function toResource(user: StoredUser) {
  const { userId, email, isActive, externalId, userName, displayName } = user
  const [created, lastModified] = user.times.map((time) =>
    dateFromEpoch(time).toISOString(),
  )

  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id: userId,
    ...(externalId !== null && { externalId }),
    userName,
    name: toName(user),
    ...(displayName !== null && { displayName }),
    emails: [{ value: email, type: 'work', primary: true }],
    active: isActive,
    meta: { resourceType: 'User', created, lastModified, location: locate(userId) },
  }
}

function toName({ givenName, familyName }: StoredUser) {
  const formatted = [givenName, familyName].filter((part) => part !== null).join(' ')
  return {
    ...(formatted && { formatted }),
    ...(givenName !== null && { givenName }),
    ...(familyName !== null && { familyName }),
  }
}

/** Returns the URL of a user. */
export function locate(userId: string): string {
  return `${env().PUBLIC_URL}${basePath}/Users/${userId}`
}

/** Returns a stored user as the attributes that a message can change. */
export function toAttributes(user: StoredUser): Attributes {
  const { userName, externalId, givenName, familyName, displayName, email } = user
  return {
    userName,
    externalId,
    givenName,
    familyName,
    displayName,
    emails: [{ value: email, type: 'work', primary: true }],
    active: null,
  }
}

/** Returns one page of a list (RFC 7644 §3.4.2). */
export function toList(resources: object[], total: number, startIndex: number) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}
