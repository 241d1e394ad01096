import { env } from '../settings/env'
import { basePath } from './resource'

// What this service provider supports (RFC 7643 §5–7, RFC 7644 §4).

const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'

/** Returns the configuration of this service provider. */
export function describeService() {
  const isUnsupported = { supported: false }

  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...isUnsupported, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: 100 },
    changePassword: isUnsupported,
    sort: isUnsupported,
    etag: isUnsupported,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token that the operator of this service issues.',
        primary: true,
      },
    ],
    meta: meta('ServiceProviderConfig', '/ServiceProviderConfig'),
  }
}

/** Returns the kinds of resources. */
export function listResourceTypes() {
  return [
    {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
      id: 'User',
      name: 'User',
      endpoint: '/Users',
      schema: userSchema,
      meta: meta('ResourceType', '/ResourceTypes/User'),
    },
  ]
}

/** Returns the schemas: the attributes that are kept. */
export function listSchemas() {
  return [
    {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
      id: userSchema,
      name: 'User',
      description: 'A person who may sign in.',
      attributes: [
        {
          ...text('userName', 'The name in the directory.'),
          required: true,
          uniqueness: 'server',
        },
        {
          ...text('name', 'The parts of the name.'),
          type: 'complex',
          subAttributes: [
            text('givenName', 'The first name.'),
            text('familyName', 'The last name.'),
          ],
        },
        text('displayName', 'The name to show.'),
        {
          ...text('active', 'Whether the person may sign in.'),
          type: 'boolean',
        },
        {
          ...text('emails', 'The address, in a domain of the connection.'),
          type: 'complex',
          multiValued: true,
          subAttributes: [
            text('value', 'The address.'),
            text('type', 'Always work.'),
            { ...text('primary', 'Always true.'), type: 'boolean' },
          ],
        },
      ],
      meta: meta('Schema', `/Schemas/${userSchema}`),
    },
  ]
}

/** Describes a text without letter case. */
function text(name: string, description: string) {
  return {
    name,
    type: 'string',
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
  }
}

function meta(resourceType: string, path: string) {
  return { resourceType, location: `${env().PUBLIC_URL}${basePath}${path}` }
}
