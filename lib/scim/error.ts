import type { Check } from '../contract/checks'

/** The values of `scimType` that this service sends (RFC 7644 §3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'uniqueness'

type Status = 400 | 401 | 403 | 404 | 405 | 409 | 501

/**
 * A rejected request of a directory. `detail` is for the people who operate the directory,
 * and quotes no value. `check` is for the log.
 */
export class ScimError extends Error {
  override readonly name = 'ScimError'

  constructor(
    readonly status: Status,
    readonly check: Check,
    readonly detail: string,
    readonly scimType?: ScimType,
  ) {
    super(detail)
  }
}

/** Returns the body of an error (RFC 7644 §3.12). */
export function describeError(status: number, detail: string, scimType?: ScimType) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType && { scimType }),
    detail,
  }
}

/** Returns an error for a value that an attribute can't have. */
export function invalidValue(detail: string): ScimError {
  return new ScimError(400, 'scim_value', detail, 'invalidValue')
}

/** Returns an error for a body that is not a SCIM message. */
export function invalidSyntax(detail: string): ScimError {
  return new ScimError(400, 'scim_syntax', detail, 'invalidSyntax')
}

/** Returns an error for a change that is not allowed (RFC 7644 §3.12). */
export function immutable(detail: string): ScimError {
  return new ScimError(400, 'scim_mutability', detail, 'mutability')
}

/** Returns an error for a user who is already in the directory, or has the address. */
export function taken(detail: string): ScimError {
  return new ScimError(409, 'scim_uniqueness', detail, 'uniqueness')
}

/**
 * Returns the error for an ID that the directory does not have, or whose domain is not live
 * at its connection.
 */
export function unknownUser(): ScimError {
  return new ScimError(404, 'scim_user', 'There is no such user in this directory.')
}
