'use client'

import { useEffect, useState, useSyncExternalStore } from 'react'
import { inRelativeTime } from '@/lib/page/relative-time'
import type { Texts } from '@/lib/page/texts/en'

type Properties = { shared: Texts['shared']; language: string; waitSeconds?: number; onRetry: () => void }

/**
 * Retries a request that was not processed. Disabled until the wait is over and the browser is
 * online.
 */
export function RetryButton({ shared, language, waitSeconds = 0, onRetry }: Properties) {
  const [seconds, setSeconds] = useState(waitSeconds)
  const online = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine)
  useEffect(() => {
    const endsAt = performance.now() + waitSeconds * 1000
    const timer = setInterval(() => setSeconds(Math.max(0, Math.ceil((endsAt - performance.now()) / 1000))), 250)
    return () => clearInterval(timer)
  }, [waitSeconds])
  const waiting = seconds > 0 || !online
  return (
    <>
      {/* Not a live region: a screen reader announces only the end of the countdown. */}
      <p id="wait" className="wait">
        {waiting &&
          (online ? shared.waiting.replace('{when}', inRelativeTime(seconds, language)) : shared.waitingForNetwork)}
        <span role="status">{!waiting && shared.waited}</span>
      </p>
      <div className="actions">
        <button
          className="button"
          type="button"
          aria-disabled={waiting}
          aria-describedby="wait"
          onClick={() => !waiting && onRetry()}
        >
          {shared.tryAgain}
        </button>
      </div>
    </>
  )
}

function subscribeToNetwork(onChange: () => void): () => void {
  for (const event of ['online', 'offline']) addEventListener(event, onChange)
  return () => {
    for (const event of ['online', 'offline']) removeEventListener(event, onChange)
  }
}
