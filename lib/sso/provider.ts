import type { ParseArgsConfig } from 'node:util'
import type { Connection } from './connection'
import type { Contact, Subject } from './identity'
import type { NewConnection } from './manage'
import type { Ask } from './next-sign-in'
import type { Secrets } from './secrets'
import type { AttemptSecrets } from './sso-attempt'

export type Authenticated = {
  identity: Subject
  contact: () => Promise<Contact>
  account?: string | undefined // the account name of a user without an email address
  amr?: string[] | null // RFC 8176
  sessionEnd?: Date | undefined // when the session at the provider ends
}

export type Flags = Record<string, string | boolean | (string | boolean)[] | undefined>

/** What an operator entered. `secrets` is null if they do not change. `notes` are shown to the operator. */
export type Entered = Pick<NewConnection, 'settings'> & { secrets: Secrets | null; notes: string[] }

/** A kind of identity provider: what a sign-in and `npm run connections` need of it. */
export type Provider<Of extends Connection = Connection> = {
  response: 'query' | 'form' // a response is the query of the callback, or a form that another site posts
  /** Returns the provider's URL to which the browser is redirected, with what to ask for. Throws SignInRejected. */
  authorize(connection: Of, secrets: AttemptSecrets, ask?: Ask | null): Promise<string>
  /** Verifies the response to the claimed sign-in that has these secrets. Throws SignInRejected. */
  authenticate(connection: Of, response: URLSearchParams, secrets: AttemptSecrets): Promise<Authenticated>
  /** Returns lines about a connection, and what to enter at the provider, by label. */
  describe(connection: Of): { settings: string[]; entries: Record<string, string> }
  /** Sends requests to the provider. Returns the results and possible problems. Throws if nobody can sign in. */
  check(connection: Of): Promise<{ summary: string; problems: string[] }>
  /** How `npm run connections -- add` and `update` make the settings and secrets of a connection. */
  add: {
    usage: string
    flags: NonNullable<ParseArgsConfig['options']>
    /** What an update leaves out is taken from `stored`. `domains` are those after it. `read` takes - for stdin. */
    settingsFrom(
      entry: { slug: string; domains: string[]; stored?: Of['settings'] },
      flags: Flags,
      read: (source: string) => Promise<Buffer>,
    ): Promise<Entered>
  }
}
