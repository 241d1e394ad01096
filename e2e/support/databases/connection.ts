import { randomBytes, randomUUID } from 'node:crypto'
import {
  addConnection,
  type ListedConnection,
  listConnections,
  type NewConnection,
} from '../../../lib/sso/manage/connections'
import { encryptSecrets } from '../../../lib/sso/secrets'
import type { Sql } from '../fixtures'
import { clientSecret, type Provider } from '../providers/oidc-provider'

/**
 * Adds a connection that is live for a domain. Its provider does not exist. Ends no
 * sessions.
 */
export async function addTestConnection(
  domain: string,
  more: Partial<NewConnection> = {},
): Promise<ListedConnection> {
  const slug = more.slug ?? `test-${randomBytes(8).toString('hex')}`
  await addConnection({
    slug,
    name: 'Test',
    settings: { kind: 'oidc', issuer: 'https://idp.example.com', clientId: 'x' },
    secrets: { clientSecret },
    domains: [domain],
    activate: true,
    provision: false,
    listed: false,
    allowPasswords: false,
    ...more,
  })
  return (await listConnections(slug))[0]!
}

/**
 * Adds a connection for one domain, and gives the provider's person an address of this
 * domain. Returns the slug.
 */
export async function connect(
  provider: Provider,
  overriding: Partial<NewConnection> = {},
): Promise<string> {
  const { issuer, person } = provider
  const slug = `test-${randomBytes(6).toString('hex')}`
  const settings = { kind: 'oidc', issuer, clientId: 'the-client' } as const
  await addTestConnection(`${slug}.example.org`, {
    slug,
    settings,
    provision: true,
    ...overriding,
  })
  person.email = `ada@${slug}.example.org`
  return slug
}

/** Adds a connection, which provisions users, to a database other than the shared one. */
export async function insertConnection(
  sql: Sql,
  slug: string,
  domain: string,
  { issuer }: Provider,
): Promise<void> {
  const [id, settings] = [randomUUID(), { issuer, clientId: 'the-client' }]
  const encrypted = await encryptSecrets(
    { clientSecret },
    { connection: id, ...settings },
  )
  const insert = `INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, provision)
    VALUES ($1, $2, $2, 'oidc', $3, $4, true)`
  await sql(insert, [id, slug, settings, encrypted])
  await sql('INSERT INTO connection_domains VALUES ($1, $2, now())', [domain, id])
}
