'use client'

import { useLayoutEffect, useState } from 'react'
import { useWait, WaitText } from '@/app/_ui/attempts'
import { forgotPasswordPageUrl } from '@/lib/http/next-path'
import type { Texts } from '@/lib/texts/en'

const waitSeconds = 60 // lib/mail/outbox.ts sends a user at most one link per minute

type Properties = {
  language: string
  shared: Texts['shared']
  again: string
  next: string | null
  children: React.ReactNode
}

/**
 * A link back to the form. Scripts disable it until a new email can be sent. Every
 * address has the same wait.
 */
export function AskAgain({ language, shared, again, next, children }: Properties) {
  const [seconds, setSeconds] = useState<number>()
  const wait = useWait(seconds ?? waitSeconds, null)
  const isWaiting = seconds !== undefined && !wait.isOver
  useLayoutEffect(() => {
    const passed = (Date.now() - Number(window.kept('asked') ?? Date.now())) / 1000
    setSeconds(Math.min(Math.max(waitSeconds - passed, 0), waitSeconds))
  }, [])

  return (
    <>
      <div className="needs-script">
        <WaitText {...{ shared, language, wait }} />
      </div>
      <div className="actions">
        {children}
        <a
          className="button quiet"
          href={forgotPasswordPageUrl('/forgot-password', next)}
          aria-disabled={isWaiting}
          aria-describedby="wait"
          onClick={(event) => {
            if (isWaiting) event.preventDefault()
          }}
        >
          {again}
        </a>
      </div>
    </>
  )
}
