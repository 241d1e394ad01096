import type { Connection } from './connection'
import type { Provider } from './provider'

/** The kinds of identity providers. The code for a protocol is loaded on first use. */
export const kinds = {
  oidc: async (): Promise<Provider> => (await import('./oidc/setup')).oidc,
  saml: async (): Promise<Provider> => (await import('./saml/setup')).saml,
}

/** Returns the implementation for the identity provider of a connection. */
export function loadProvider({ settings }: Connection): Promise<Provider> {
  return kinds[settings.kind]()
}
