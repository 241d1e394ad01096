import type { XmlElement } from './saml/xml'

/**
 * What a test sign-in collects while its response is verified. It contains tokens and
 * personal data: show it only as `ProviderReport` describes it.
 */
export type TraceEntry =
  // a response of an OpenID provider to a request of ours
  | { from: 'token' | 'userInfo'; body: string }
  // the parts of a SAML response
  | { part: 'response' | 'assertion'; element: XmlElement }
  // the certificate (PEM) that verified the signature of a part
  | { signed: 'response' | 'assertion'; certificate: string }
  // from here on, the provider vouches for what it sent
  | { isVerified: true }

/** Collects what happens in a test sign-in. Real sign-ins have none. */
export type Trace = (entry: TraceEntry) => void

/** Values of one origin, such as the claims of an ID token, by name. */
export type Received = { from: string; values: [name: string, value: unknown][] }

/** A value that must be ours, and what the provider sent in its place. */
export type Expected = { name: string; ours: string; received: string[] }

/** A step of a sign-in, and the checks that belong to it. */
export type Step = { label: string; checks: RegExp }

/** What a kind of identity provider shows about a test sign-in. */
export type ProviderReport<Kind> = {
  /** The steps in their order, up to the one that makes the response trustworthy. */
  verification: Step[]
  /** The step about the content of the verified response. */
  content: Step
  /**
   * Describes what was received. `secrets` must not be shown. `issuedAt` is the time of the
   * provider when it responded, in milliseconds.
   */
  describe(
    connection: Kind,
    response: URLSearchParams,
    entries: TraceEntry[],
  ): {
    received: Received[]
    expected: Expected[]
    secrets: string[]
    issuedAt: number | null
  }
}
