import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'
import { formatIssue } from '@/lib/password/format'

const debounceMs = 350 // rates the password when typing pauses
const formatRatings = { too_short: 'short', too_long: 'long', invalid_characters: 'invalid' } as const

type Rating = keyof Texts['reset']['strength']

type Properties = {
  texts: Texts['reset']
  minLength: number
  app: string
  email: string | null
  password: string
  /** Whether the user types, and can use advice: only then does the judge load. */
  byHand: boolean
}

/**
 * Rates a password by the rules of the server, which decides. The judge of its strength runs in a
 * worker, which loads when the user begins to type.
 */
export function StrengthMeter({ texts, minLength, app, email, password, byHand }: Properties) {
  const [rating, setRating] = useState<Rating | null>(null)
  useEffect(() => {
    if (!password) return setRating(null)
    let latest = true
    const timer = setTimeout(async () => {
      const context = email ? [email, app] : [app]
      const rated = await rate(password, minLength, context, byHand).catch(() => null) // not loaded: no rating
      if (latest) setRating(rated)
    }, debounceMs)
    return () => {
      latest = false
      clearTimeout(timer)
    }
  }, [password, minLength, app, email, byHand])
  return (
    <p className="strength" data-strength={rating ?? undefined}>
      <span className="strength-bar" aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
      <span className="strength-words" role="status">
        {rating && texts.strength[rating]}
      </span>
    </p>
  )
}

let isWanted = false // until the user has typed

async function rate(password: string, minLength: number, context: string[], byHand: boolean): Promise<Rating | null> {
  const issue = formatIssue(password, minLength)
  if (issue) return formatRatings[issue]
  isWanted ||= byHand
  if (!isWanted) return null
  const { judge } = await import('./strength-judge')
  return judge(password, context)
}
