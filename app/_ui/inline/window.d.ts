// What the inline scripts of this folder hand over to each other and to React. They run
// before the other scripts load. They listen in the capture phase: while a part of the page
// is not ready, React stops its events (click, input, change, …) at the document.
//
// Marks on <html> (`data-…`), which styles.css reads:
//   code             /sso/callback has a code                         url-secrets
//   fragment         the secret was in the fragment of the URL        url-secrets
//   leaving          the page opens its link again                    url-secrets
//   submitted-early  a form was submitted before the page was ready   early-submit
//   stuck            the scripts of the page failed to load           early-submit
//   outdated         a new version has replaced these scripts         early-submit
//   ready            React is ready, or nothing needs it         attempts, early-leave

/** The script that is running. Its `data-…` attributes are its parameters. */
type InlineScript = HTMLScriptElement & { dataset: Record<Parameter, string> }
type Parameter =
  | 'secrets'
  | 'path'
  | 'sessionPath'
  | 'destination'
  | 'locale'
  | 'format'
  | 'refreshPath'
  | 'renew'
  | 'next'
  | 'state'

interface Window {
  /** The secrets of the page's URL, until app/_ui/url-secret.ts takes them. */
  urlSecrets?: Partial<Record<'code' | 'token', string>>

  /** Posts JSON or a form, with a time limit. `key`: its `Idempotency-Key`, if any. */
  sendJson: (path: string, body: unknown, key?: string) => import('../post').Sent

  /**
   * Returns a new `Idempotency-Key`. A browser may repeat a POST whose response is lost,
   * and then gets the answer of the first. Keep it in memory only.
   */
  newKey: () => string

  /** Returns a signal that aborts a request after a time limit. */
  abortAfter: (ms: number) => AbortSignal

  /** Reads a value from the storage of this tab. */
  kept: (name: 'email' | 'asked') => string | null

  /** Writes a value into the storage of this tab, or deletes it. */
  keep: (name: 'email' | 'asked', value: string | null) => void

  /** Whether the scripts of this page are missing from the server. Set if one fails. */
  isOutdated?: Promise<boolean>

  /** The exchange that early-exchange.inline.js started. */
  earlyExchange?: import('../post').Sent

  /** The lookup of the session, which follows a rejected code. */
  earlyLookUp?: Promise<Response | null>
}
