import type { AttemptSecrets } from './attempt'
import type { Connection } from './connection'
import type { Contact, Subject } from './identity'
import type { NewConnection } from './manage/connections'
import type { Ask } from './next-sign-in'
import type { SignInRejected } from './rejection'
import type { Secrets } from './secrets'
import type { Trace } from './trace'

export type Authenticated = {
  identity: Subject
  contact: () => Promise<Contact>
  account?: string | undefined // the account name of a user without an email address
  amr?: string[] | null // RFC 8176
  sessionEnd?: Date | undefined // when the session at the provider ends
  issuedAt?: Date | undefined // by the clock of the provider
  providerSession?: string | null // the `sid`, which a logout of the provider names
}

export type Flags = Record<string, string | boolean | (string | boolean)[] | undefined>

/**
 * A flag of `npm run connections -- add` and `update`. Has a value if `value` names it.
 * `text` is for the help.
 */
export type Flag = { value?: string; repeats?: true; text: string }

/**
 * The input of an operator. `secrets` is null if they do not change. `notes` are shown to
 * the operator.
 */
export type Entered = Pick<NewConnection, 'settings'> & {
  secrets: Secrets | null
  notes: string[]
}

/** What sign-ins need from a kind of identity provider. */
export type ProviderSignIn<Kind extends Connection = Connection> = {
  response: 'query' | 'form' // the query of the callback, or a cross-site form post
  /**
   * Returns the rejection for a known error in a response that belongs to no sign-in, or
   * null. Some providers send an error without `state`.
   */
  readError?(response: URLSearchParams): SignInRejected | null
  /**
   * Returns the provider's URL to which the browser is redirected. Throws SignInRejected.
   */
  authorize(connection: Kind, secrets: AttemptSecrets, ask?: Ask | null): Promise<string>
  /**
   * Verifies the response to a claimed sign-in with these secrets. Throws SignInRejected.
   * A test passes `trace`, and gets fresh metadata.
   */
  authenticate(
    connection: Kind,
    response: URLSearchParams,
    secrets: AttemptSecrets,
    trace?: Trace,
  ): Promise<Authenticated>
}

/** What the commands need from a kind of identity provider. */
export type ProviderSetup<Kind extends Connection = Connection> = {
  /**
   * Returns lines about a connection, and the values to enter at the provider, by label.
   */
  describe(connection: Kind): { settings: string[]; entries: Record<string, string> }
  /**
   * Sends test requests to the provider. Returns the results and possible problems.
   * Throws if nobody can sign in.
   */
  check(connection: Kind): Promise<{ summary: string; problems: string[] }>
  /**
   * Returns the issuer in the ID tokens or assertions of a connection. Throws UsageError
   * if there are several.
   */
  readIssuer(connection: Kind): Promise<string>
  /**
   * How `npm run connections -- add` and `update` create the settings and secrets of a
   * connection.
   */
  add: {
    description: string
    flags: Record<string, Flag>
    /**
     * A setting without a flag stays as stored. `domains` are those after the update.
     * `read` reads stdin for -.
     */
    settingsFrom(
      entry: { slug: string; domains: string[]; stored?: Kind['settings'] },
      flags: Flags,
      read: (source: string) => Promise<Buffer>,
    ): Promise<Entered>
  }
}
