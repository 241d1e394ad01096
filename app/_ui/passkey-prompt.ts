const graceMs = 500
const extraMs = 10_000 // the browser ends its prompt first

let controller: AbortController | undefined
let ended: Promise<unknown> | undefined

/** Ends the pending prompt, if any. */
export function abortPrompt(): void {
  controller?.abort()
}

/**
 * Shows a prompt for a passkey. A page may have only one, so this ends the pending one
 * first, and waits until the browser has ended it. Rejects with an `AbortError` after
 * `abortPrompt`, and with a `NotAllowedError` after the time-out, even if a password
 * manager never settles the promise.
 */
export async function showPrompt(
  show: (signal: AbortSignal) => Promise<Credential | null>,
  timeoutMs?: number,
): Promise<PublicKeyCredential> {
  abortPrompt()
  await ended

  const own = new AbortController()
  controller = own
  const { signal } = own
  const aborted = new Promise<never>((_, reject) => {
    signal.onabort = () => setTimeout(reject, graceMs, signal.reason)
  })
  const shown = Promise.race([show(signal), aborted])
  ended = shown.catch(() => {})

  const stop = () => own.abort(new DOMException('', 'NotAllowedError'))
  const timer = timeoutMs && setTimeout(stop, timeoutMs + extraMs)
  await ended
  clearTimeout(timer)

  return shown as Promise<PublicKeyCredential>
}
