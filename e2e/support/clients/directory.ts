import { randomUUID } from 'node:crypto'
import { createScimToken } from '../../../lib/scim/manage'
import { basePath } from '../../../lib/scim/resource'
import type { ListedConnection, NewConnection } from '../../../lib/sso/manage/connections'
import { addTestConnection } from '../databases/connection'
import { expect } from '../fixtures'
import { keepSecret, newAddress } from '../secrets'

export type ScimResponse = { status: number; headers: Headers; body: any }

/** A directory, such as Okta, that sends users to a connection. */
export type Directory = {
  connection: ListedConnection
  domain: string
  token: string
  /** Sends a request, by default from another IP address each time. */
  send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<ScimResponse>
}

/** The media types that a message can have. */
export const mediaTypes = ['application/scim+json', 'application/json']
export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'

/** Adds a connection that is live for a new domain, with a token for its directory. */
export async function openDirectory(
  nextUrl: () => string,
  more: Partial<NewConnection> = {},
): Promise<Directory> {
  const domain = `${randomUUID()}.example.org`
  const connection = await addTestConnection(domain, more)
  const token = keepSecret(await createScimToken(connection, 0))

  return { connection, domain, token, send: withToken(nextUrl, token) }
}

/** Returns a function that sends requests with a token. */
export function withToken(nextUrl: () => string, token: string): Directory['send'] {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(nextUrl() + basePath + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        'X-Forwarded-For': newAddress(),
        ...(body !== undefined && { 'Content-Type': mediaTypes[0]! }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (text) expect(response.headers.get('content-type')).toBe(mediaTypes[0])

    return {
      status: response.status,
      headers: response.headers,
      body: text ? JSON.parse(text) : null,
    }
  }
}

/** Returns the body of a POST with a new address in the domain. */
export function newPerson(domain: string, name: string = randomUUID()) {
  const email = `${name}@${domain}`
  return {
    schemas: [userSchema],
    userName: email,
    externalId: randomUUID(),
    name: { givenName: 'Ada', familyName: 'Byron' },
    emails: [{ primary: true, value: email, type: 'work' }],
    active: true,
  }
}

/** Returns the body of a PATCH. */
export function patchOf(...operations: object[]) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: operations,
  }
}

/** The PATCH that takes access away. */
export const deactivation = patchOf({ op: 'replace', path: 'active', value: false })
export const activation = patchOf({ op: 'replace', path: 'active', value: true })

/** Returns the error of a response. */
export function errorIn({ status, body }: ScimResponse) {
  expect(body).toMatchObject({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    detail: expect.any(String),
  })
  return [status, body.scimType]
}
