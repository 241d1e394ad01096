/**
 * Who sends a request: all that an operation knows of its client, besides the body. For
 * each request, `readCaller` in lib/http/caller.ts creates one, and reads a member only
 * when it is used.
 */
export type Caller = {
  /**
   * An IPv4 address, the /64 of an IPv6 address, or `unknown`. Requests are counted by
   * it.
   */
  readonly address: string
  /**
   * The IPv4 /24 or the IPv6 /64 of the address. Attempts with passwords are counted by
   * it.
   */
  readonly network: string
  /** The ID in the cookie `__Host-browser`, by which a sign-in recognizes its browser. */
  readonly browser: string | null
  /**
   * The header `Idempotency-Key` of our pages, by which lib/session/repetition.ts
   * recognizes a repeated request.
   */
  readonly idempotencyKey: string | null
  /** The unverified cookie `__Host-known` (see lib/password/known-browser.ts). */
  readonly knownBrowser: string | null
  /** The IDs of the sessions in the browser's cookies. The sessions may have ended. */
  readonly sessionIds: Promise<string[]>
  /** The kind of device, such as “Firefox on Windows”, for the list of sessions. */
  readonly device: string | null
  /** The tag of the language of emails that the request causes. */
  readonly language: string
}

/** For a client that sends nothing of a browser, and for a command of an operator. */
export const unknownCaller: Caller = {
  address: 'unknown',
  network: 'unknown',
  browser: null,
  idempotencyKey: null,
  knownBrowser: null,
  sessionIds: Promise.resolve([]),
  device: null,
  language: 'en',
}
