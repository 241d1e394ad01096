import { benchUrl } from './servers'

/**
 * Adds a connection to the OpenID provider with this issuer, and one to a SAML provider. Imports what
 * reads the settings, so call it once they are set.
 */
export async function connectProviders(issuer: string) {
  const { addConnection } = await import('../lib/sso/manage')
  const { clientSecret } = await import('../e2e/support/oidc-provider')
  const { newSamlProvider } = await import('../e2e/support/saml-provider')
  const { connectSaml } = await import('../e2e/support/saml-visitor')
  const oidcSlug = 'acme'
  await addConnection({
    slug: oidcSlug,
    name: 'Acme',
    settings: { kind: 'oidc', issuer, clientId: 'the-client' },
    secrets: { clientSecret },
    domains: ['example.org'], // that of the provider's person
    provision: true,
    listed: false,
    allowPasswords: false,
  })
  const saml = await newSamlProvider()
  return { oidcSlug, clientSecret, saml, samlSlug: await connectSaml(saml, benchUrl) }
}
