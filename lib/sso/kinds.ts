import type { Connection } from './connection'
import type { ProviderSetup, ProviderSignIn } from './provider'
import type { ProviderReport } from './trace'

/**
 * The kinds of identity providers. `signIn` is loaded for the first sign-in, `report`
 * for a test, and `setup` for the commands.
 */
export const kinds = {
  oidc: {
    signIn: async (): Promise<ProviderSignIn> =>
      (await import('./oidc/sign-in')).oidcSignIn,
    report: async (): Promise<ProviderReport<any>> =>
      (await import('./oidc/report')).oidcReport,
    setup: async (): Promise<ProviderSetup> => (await import('./oidc/setup')).oidcSetup,
  },
  saml: {
    signIn: async (): Promise<ProviderSignIn> =>
      (await import('./saml/sign-in')).samlSignIn,
    report: async (): Promise<ProviderReport<any>> =>
      (await import('./saml/report')).samlReport,
    setup: async (): Promise<ProviderSetup> => (await import('./saml/setup')).samlSetup,
  },
}

/** Returns the functions for a sign-in at the identity provider of a connection. */
export function loadSignIn({ settings }: Connection): Promise<ProviderSignIn> {
  return kinds[settings.kind].signIn()
}

/** Returns what a test sign-in of a connection shows. */
export function loadReport({
  settings,
}: Connection): Promise<ProviderReport<Connection>> {
  return kinds[settings.kind].report()
}

/** Returns the functions for the commands about a connection. */
export function loadSetup({ settings }: Connection): Promise<ProviderSetup> {
  return kinds[settings.kind].setup()
}
