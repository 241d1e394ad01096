'use client'

import { useLayoutEffect, useState } from 'react'
import { useWait, WaitText } from '@/app/_ui/attempts'
import type { Texts } from '@/lib/texts/en'

const waitSeconds = 60 // lib/mail/outbox.ts sends a user at most one link per minute

type Properties = {
  language: string
  shared: Texts['shared']
  again: string
  formUrl: string
  children: React.ReactNode
}

/**
 * A link back to the form. Scripts disable it until a new email can be sent, and show
 * below it how long that takes. Every address has the same wait.
 */
export function AskAgain({ language, shared, again, formUrl, children }: Properties) {
  const [seconds, setSeconds] = useState<number>()
  const wait = useWait(seconds ?? waitSeconds, null)
  const isWaiting = seconds !== undefined && !wait.isOver
  useLayoutEffect(() => {
    const passed = (Date.now() - Number(window.kept('asked') ?? Date.now())) / 1000
    setSeconds(Math.min(Math.max(waitSeconds - passed, 0), waitSeconds))
  }, [])

  return (
    <div className="actions">
      {children}
      <a
        className="button quiet"
        href={formUrl}
        aria-disabled={isWaiting}
        aria-describedby="wait"
        onClick={(event) => {
          if (isWaiting) event.preventDefault()
        }}
      >
        {again}
      </a>
      <div className="countdown needs-script">
        {seconds !== undefined && <WaitText {...{ shared, language, wait }} />}
      </div>
    </div>
  )
}
