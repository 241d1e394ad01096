import type { ParseArgsConfig } from 'node:util'
import type { Connection } from './connection'
import type { Contact, Subject } from './identity'
import type { NewConnection } from './manage'
import type { Ask } from './next-sign-in'
import type { Secrets } from './sealed-secrets'
import type { AttemptSecrets } from './sso-attempt'

/** Who has signed in, and until when. */
export type Authenticated = {
  identity: Subject
  contact: () => Promise<Contact>
  account?: string | undefined // what the provider calls a user without an email address
  amr?: string[] | null // RFC 8176
  sessionEnd?: Date | undefined
}

export type Flags = Record<string, string | boolean | (string | boolean)[] | undefined>

/** What an operator entered. `secrets` are null if they stay; `notes` are for the operator. */
export type Entered = Pick<NewConnection, 'settings'> & { secrets: Secrets | null; notes: string[] }

/** A kind of identity provider: what a sign-in and `npm run connections` need of it. */
export type Provider<Of extends Connection = Connection> = {
  /** Whether a response is the query of the callback, or a form that another site posts to the ACS. */
  response: 'query' | 'form'
  /** Returns the URL of the provider at which the sign-in goes on, and asks. Throws SignInRejected. */
  authorize(connection: Of, secrets: AttemptSecrets, ask?: Ask | null): Promise<string>
  /** Verifies the response to the claimed sign-in that has these secrets. Throws SignInRejected. */
  authenticate(connection: Of, response: URLSearchParams, secrets: AttemptSecrets): Promise<Authenticated>
  /** Returns lines about a connection, and what to enter at the provider, by label. */
  describe(connection: Of): { settings: string[]; entries: Record<string, string> }
  /** Asks the provider. Returns what it says, and what may be wrong. Throws if nobody can sign in. */
  check(connection: Of): Promise<{ summary: string; problems: string[] }>
  /** How `npm run connections -- add` and `update` make the settings and secrets of a connection. */
  add: {
    usage: string
    flags: NonNullable<ParseArgsConfig['options']>
    /** What an update leaves out stays as it is `stored`. `domains` are those afterwards. `read` takes - for stdin. */
    settingsFrom(
      entry: { slug: string; domains: string[]; stored?: Of['settings'] },
      flags: Flags,
      read: (source: string) => Promise<Buffer>,
    ): Promise<Entered>
  }
}
