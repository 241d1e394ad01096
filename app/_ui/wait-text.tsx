import { inRelativeTime } from '@/lib/page/relative-time'
import type { Texts } from '@/lib/page/texts/en'
import type { Wait } from './use-wait'

type Properties = { id: string; shared: Texts['shared']; language: string; wait: Wait }

/** Says when a retry is possible. Not a live region: a screen reader announces only the end of the wait. */
export function WaitText({ id, shared, language, wait: { seconds, online, isOver } }: Properties) {
  const waiting = online
    ? shared.waiting.replace('{when}', inRelativeTime(seconds, language))
    : shared.waitingForNetwork
  return (
    <p id={id} className="wait">
      {!isOver && <span>{waiting}</span>}
      <span role="status">{isOver && shared.waited}</span>
    </p>
  )
}
