import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { Outcome } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { formatRelativeTime } from '@/lib/texts/relative-time'

const stillWorkingMs = 4_000

/** The number of retries after which a page offers no immediate retry any more. */
export const maxRetries = 3

/** The state of a page that posts a form or a secret. `again` marks a retry. */
export type Step =
  | Outcome
  | { kind: 'ready' | 'no-secret' }
  | { kind: 'sending' | 'slow'; again: boolean }

/** Returns the state of a page. `retries` counts the retries of the current attempt. */
export function useAttempts(hasSecret: boolean) {
  const [step, setStep] = useState<Step>(
    hasSecret ? { kind: 'ready' } : { kind: 'no-secret' },
  )
  const [retries, setRetries] = useState(0)

  /** Shows the progress and the outcome of an attempt. */
  async function track<Tracked extends Outcome>(
    pending: Promise<Tracked>,
    again = false,
  ): Promise<Tracked> {
    if (!again) setRetries(0)
    else if (step.kind !== 'offline') setRetries(retries + 1) // an offline browser sent nothing
    setStep({ kind: 'sending', again })
    const timer = setTimeout(() => setStep({ kind: 'slow', again }), stillWorkingMs)
    const outcome = await pending
    clearTimeout(timer)
    setStep(outcome)

    return outcome
  }

  return { step, retries, setStep, track }
}

/** Whether the request was certainly not processed. */
export function isRetryable(
  step: Step,
): step is Outcome & { kind: 'limited' | 'unavailable' | 'offline' } {
  return step.kind === 'limited' || step.kind === 'unavailable' || step.kind === 'offline'
}

/**
 * Marks the page as interactive, for early-submit.inline.js. Returns whether the user has
 * already submitted a form.
 */
export function markPageReady(): boolean {
  const page = document.documentElement.dataset
  const submittedEarly = 'submittedEarly' in page
  page.ready = ''
  for (const mark of ['submittedEarly', 'stuck', 'fragment']) delete page[mark]
  return submittedEarly
}

/** How long a retry has to wait: until `seconds` is 0 and the browser is online. */
type Wait = { seconds: number; online: boolean; isOver: boolean }

/**
 * Counts down to the earliest retry. `attempt` is any value that differs for each
 * attempt.
 */
export function useWait(waitSeconds: number, attempt: unknown): Wait {
  const [now, setNow] = useState(0)
  const online = useSyncExternalStore(
    subscribeToNetwork,
    () => navigator.onLine,
    () => true,
  )

  const endsAt = useMemo(
    // not performance.now(), which may stop while the device sleeps
    () => (waitSeconds ? Date.now() + waitSeconds * 1000 : 0),
    [attempt, waitSeconds],
  )

  useEffect(() => {
    if (!endsAt) return
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [endsAt])

  const seconds = endsAt
    ? Math.max(0, Math.ceil((endsAt - Math.max(now, Date.now())) / 1000))
    : 0

  return { seconds, online, isOver: seconds === 0 && online }
}

function subscribeToNetwork(onChange: () => void): () => void {
  for (const event of ['online', 'offline']) addEventListener(event, onChange)
  return () => {
    for (const event of ['online', 'offline']) removeEventListener(event, onChange)
  }
}

type WaitTextProperties = { shared: Texts['shared']; language: string; wait: Wait }

/**
 * Displays the time until a retry is possible. It is not a live region, so screen readers
 * announce only the end of the wait. Render it only in the browser: the server may write a
 * time in other words.
 */
export function WaitText({
  shared,
  language,
  wait: { seconds, online, isOver },
}: WaitTextProperties) {
  const waiting = online
    ? shared.waiting.replace('{when}', formatRelativeTime(seconds, language))
    : shared.waitingForNetwork
  return (
    <p id="wait" className="wait">
      {!isOver && <span>{waiting}</span>}
      <span role="status">{isOver && shared.waited}</span>
    </p>
  )
}
