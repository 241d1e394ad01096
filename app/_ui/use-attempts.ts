import { useState } from 'react'
import type { Outcome } from '@/lib/page/post'

const stillWorkingMs = 4_000

export const maxRetries = 3

/** The state of a page that posts its secret: it has one or none, waits for the response (`again` after a retry), or knows the outcome. */
export type Step =
  | Outcome
  | { kind: 'ready' }
  | { kind: 'no-secret' }
  | { kind: 'sending'; again: boolean }
  | { kind: 'slow'; again: boolean }

/** The icon of each outcome. */
export const outcomeIcons = {
  done: 'good',
  rejected: 'link',
  limited: 'wait',
  unavailable: 'wait',
  offline: 'offline',
  unknown: 'unclear',
  failed: 'wrong',
} as const

/** The steps of such a page, and how many retries were processed since the first attempt, or since the user changed the input. */
export function useAttempts(hasSecret: boolean) {
  const [step, setStep] = useState<Step>(hasSecret ? { kind: 'ready' } : { kind: 'no-secret' })
  const [retries, setRetries] = useState(0)

  /** Shows an attempt from its beginning to its outcome. */
  async function follow(pending: Promise<Outcome>, again = false): Promise<Outcome> {
    if (!again) setRetries(0)
    else if (step.kind !== 'offline') setRetries(retries + 1) // offline, nothing was sent
    setStep({ kind: 'sending', again })
    const timer = setTimeout(() => setStep({ kind: 'slow', again }), stillWorkingMs)
    const outcome = await pending
    clearTimeout(timer)
    setStep(outcome)
    return outcome
  }

  return { step, retries, setStep, follow }
}

/** Nothing was processed. */
export function isRetryable(step: Step): step is Outcome & { kind: 'limited' | 'unavailable' | 'offline' } {
  return step.kind === 'limited' || step.kind === 'unavailable' || step.kind === 'offline'
}
