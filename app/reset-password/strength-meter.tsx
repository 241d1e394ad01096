import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'

const debounceMs = 350 // rates the password when typing pauses
const strongGuesses = 1e12

type Rating = keyof Texts['reset']['strength']

/**
 * Rates a password while it is typed. Advisory: the server decides, with the same library, which
 * loads when the user starts to type.
 */
export function StrengthMeter({
  app,
  texts,
  minLength,
  typed,
}: {
  app: string
  texts: Texts['reset']
  minLength: number
  typed: string
}) {
  const [rating, setRating] = useState<Rating | null>(null)
  useEffect(() => {
    if (!typed) return setRating(null)
    let latest = true
    const timer = setTimeout(async () => {
      const result = await rate(typed, minLength, app).catch(() => null) // not loaded: no rating
      if (latest) setRating(result)
    }, debounceMs)
    return () => {
      latest = false
      clearTimeout(timer)
    }
  }, [typed, minLength, app])
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

async function rate(password: string, minLength: number, app: string): Promise<Rating> {
  const { countGuesses, minGuesses } = await import('@/lib/password/strength')
  if ([...password.normalize('NFC')].length < minLength) return 'short'
  const guesses = countGuesses(password, [app])
  if (guesses < minGuesses) return 'weak'
  return guesses < strongGuesses ? 'good' : 'strong'
}
