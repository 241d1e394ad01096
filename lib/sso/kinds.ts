import { z } from 'zod'
import type { Connection } from './connection'
import { OidcSettings } from './oidc/settings'
import type { Provider } from './provider'
import { SamlSettings } from './saml/settings'

/** The kinds of identity providers. What speaks their protocols is loaded when it is needed. */
export const kinds = {
  oidc: { settings: OidcSettings, provider: async (): Promise<Provider> => (await import('./oidc/provider')).oidc },
  saml: { settings: SamlSettings, provider: async (): Promise<Provider> => (await import('./saml/provider')).saml },
}

const ofKinds = Object.values(kinds).map(({ settings }) => settings)
type OfKind = (typeof ofKinds)[number]

/** The settings of a connection, by the kind of its identity provider. */
export const ConnectionSettings = z.discriminatedUnion('kind', ofKinds as [OfKind, ...OfKind[]])
export type ConnectionSettings = z.output<typeof ConnectionSettings>

/** Returns what speaks with the identity provider of a connection. */
export function providerOf({ settings }: Pick<Connection, 'settings'>): Promise<Provider> {
  return kinds[settings.kind].provider()
}
