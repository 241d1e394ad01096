'use client'

import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/texts/en'
import { inWords } from '@/lib/wait'

type Properties = { shared: Texts['shared']; language: string; waitSeconds?: number; onRetry: () => void }

/** Repeats by hand what was not processed, once the wait is over. Until then the button says so, and does nothing. */
export function RetryButton({ shared, language, waitSeconds = 0, onRetry }: Properties) {
  const [seconds, setSeconds] = useState(waitSeconds)
  useEffect(() => {
    const endsAt = performance.now() + waitSeconds * 1000
    const timer = setInterval(() => setSeconds(Math.max(0, Math.ceil((endsAt - performance.now()) / 1000))), 250)
    return () => clearInterval(timer)
  }, [waitSeconds])
  const waiting = seconds > 0
  return (
    <>
      {/* counted down for the eyes alone: a screen reader hears the end of it */}
      {waitSeconds > 0 && (
        <p id="wait" className="wait">
          {waiting && shared.waiting.replace('{when}', inWords(seconds, language))}
          <span role="status">{!waiting && shared.waited}</span>
        </p>
      )}
      <div className="actions">
        <button
          className="button"
          type="button"
          aria-disabled={waiting}
          aria-describedby={waitSeconds > 0 ? 'wait' : undefined}
          onClick={() => !waiting && onRetry()}
        >
          {shared.tryAgain}
        </button>
      </div>
    </>
  )
}
