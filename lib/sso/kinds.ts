import type { Connection } from './connection'
import { OidcSettings } from './oidc/settings'
import type { Provider } from './provider'
import { SamlSettings } from './saml/settings'

/** The kinds of identity providers. What speaks their protocols is loaded when it is needed. */
export const kinds = {
  oidc: { settings: OidcSettings, provider: async (): Promise<Provider> => (await import('./oidc/provider')).oidc },
  saml: { settings: SamlSettings, provider: async (): Promise<Provider> => (await import('./saml/provider')).saml },
}

/** Returns what speaks with the identity provider of a connection. */
export function providerOf({ settings }: Pick<Connection, 'settings'>): Promise<Provider> {
  return kinds[settings.kind].provider()
}
