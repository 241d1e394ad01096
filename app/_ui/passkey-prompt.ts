import { useRef } from 'react'

const graceMs = 500
const extraMs = 10_000 // the browser ends its prompt first

/**
 * Runs prompts for passkeys, one at a time. A page may show only one, so a new one ends
 * the pending one, and waits until the browser has ended it.
 */
export function usePasskeyPrompt() {
  const controller = useRef<AbortController>(undefined)
  const ended = useRef<Promise<unknown>>(undefined)

  const abort = () => controller.current?.abort()

  /** Rejects with an `AbortError` after `abort`, even if the browser never responds. */
  async function prompt(
    show: (signal: AbortSignal) => Promise<Credential | null>,
    timeoutMs?: number,
  ): Promise<PublicKeyCredential> {
    abort()
    await ended.current

    const own = new AbortController()
    controller.current = own
    const { signal } = own
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => setTimeout(reject, graceMs, signal.reason)),
    )

    // some password managers never settle the promise
    const timer =
      timeoutMs &&
      setTimeout(
        () => own.abort(new DOMException('', 'NotAllowedError')),
        timeoutMs + extraMs,
      )
    const shown = Promise.race([show(signal), aborted])
    ended.current = shown.catch(() => {})

    try {
      return (await shown) as PublicKeyCredential
    } finally {
      clearTimeout(timer)
    }
  }

  return { prompt, abort }
}
