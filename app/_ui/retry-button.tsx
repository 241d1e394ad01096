'use client'

import type { Texts } from '@/lib/page/texts/en'
import { useWait, WaitText } from './wait'

type Properties = {
  shared: Texts['shared']
  language: string
  waitSeconds?: number
  onRetry: () => void
  /** Another way on, which works during the wait. */
  children?: React.ReactNode
}

/** Retries a request that was not processed. Disabled until the wait is over and the browser is online. */
export function RetryButton({ shared, language, waitSeconds = 0, onRetry, children }: Properties) {
  const wait = useWait(waitSeconds, null)
  return (
    <>
      <WaitText {...{ shared, language, wait }} />
      <div className="actions">
        <button
          className="button"
          type="button"
          aria-disabled={!wait.isOver}
          aria-describedby="wait"
          onClick={() => wait.isOver && onRetry()}
        >
          {shared.tryAgain}
        </button>
        {children}
      </div>
    </>
  )
}
