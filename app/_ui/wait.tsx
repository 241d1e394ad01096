import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { Texts } from '@/lib/texts/en'
import { formatRelativeTime } from '@/lib/texts/relative-time'

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
    () => (waitSeconds ? performance.now() + waitSeconds * 1000 : 0),
    [attempt, waitSeconds],
  )

  useEffect(() => {
    if (!endsAt) return
    const timer = setInterval(() => setNow(performance.now()), 250)
    return () => clearInterval(timer)
  }, [endsAt])

  const seconds = endsAt
    ? Math.max(0, Math.ceil((endsAt - Math.max(now, performance.now())) / 1000))
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
 * announce only the end of the wait.
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
