import { randomBytes } from 'node:crypto'
import { addConnection, type ListedConnection, listConnections, type NewConnection } from '../../lib/sso/manage'
import { clientSecret } from './oidc-provider'

/** Adds a connection of a domain, whose provider does not exist. Ends no sessions. */
export async function addTestConnection(domain: string, more: Partial<NewConnection> = {}): Promise<ListedConnection> {
  const slug = more.slug ?? `test-${randomBytes(8).toString('hex')}`
  await addConnection({
    slug,
    name: 'Test',
    settings: { kind: 'oidc', issuer: 'https://idp.example.com', clientId: 'x' },
    secrets: { clientSecret },
    domains: [domain],
    provision: false,
    listed: false,
    allowPasswords: false,
    ...more,
  })
  return (await listConnections(slug))[0]!
}
