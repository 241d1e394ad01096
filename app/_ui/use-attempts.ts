import { useState } from 'react'
import type { Outcome } from '@/app/_ui/post'

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
