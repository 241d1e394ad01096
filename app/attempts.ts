import { useState } from 'react'
import type { Outcome } from '@/lib/outcome'

const stillWorkingMs = 4_000

export const maxRetries = 3

/** Where a page stands that posts its secret: it has one or none, waits for the answer (`again` after a retry), or knows what came of it. */
export type Step = Outcome | { kind: 'ready' } | { kind: 'nothing' } | { kind: 'sending'; again: boolean } | { kind: 'slow'; again: boolean }

/** The sign of what came of it. */
export const signs = {
  done: 'good',
  refused: 'link',
  limited: 'wait',
  unavailable: 'wait',
  offline: 'offline',
  unknown: 'unclear',
  failed: 'wrong',
} as const

/** The steps of such a page, and how many retries were processed since it began, or began afresh. */
export function useAttempts(hasSecret: boolean) {
  const [step, setStep] = useState<Step>(hasSecret ? { kind: 'ready' } : { kind: 'nothing' })
  const [retries, setRetries] = useState(0)

  /** Shows an attempt from its beginning to its outcome. */
  async function follow(answer: Promise<Outcome>, again = false): Promise<Outcome> {
    if (!again) setRetries(0)
    else if (step.kind !== 'offline') setRetries(retries + 1) // offline, nothing was sent
    setStep({ kind: 'sending', again })
    const timer = setTimeout(() => setStep({ kind: 'slow', again }), stillWorkingMs)
    const outcome = await answer
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
