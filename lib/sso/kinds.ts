import type { Connection } from './connection'
import type { ProviderSetup, ProviderSignIn } from './provider'

/**
 * The kinds of identity providers. `signIn` is loaded for the first sign-in, and `setup`
 * for the commands.
 */
export const kinds = {
  oidc: {
    signIn: async (): Promise<ProviderSignIn> =>
      (await import('./oidc/sign-in')).oidcSignIn,
    setup: async (): Promise<ProviderSetup> => (await import('./oidc/setup')).oidcSetup,
  },
  saml: {
    signIn: async (): Promise<ProviderSignIn> =>
      (await import('./saml/sign-in')).samlSignIn,
    setup: async (): Promise<ProviderSetup> => (await import('./saml/setup')).samlSetup,
  },
}

/** Returns the functions for a sign-in at the identity provider of a connection. */
export function loadSignIn({ settings }: Connection): Promise<ProviderSignIn> {
  return kinds[settings.kind].signIn()
}

/** Returns the functions for the commands about a connection. */
export function loadSetup({ settings }: Connection): Promise<ProviderSetup> {
  return kinds[settings.kind].setup()
}
