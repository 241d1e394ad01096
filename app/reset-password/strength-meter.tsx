import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'

const pauseMs = 350 // reads when the typing pauses
const strongGuesses = 1e12

type Reading = keyof Texts['reset']['strength']

/** Help while typing, which never says no: the server judges, with the same library. That is loaded when somebody begins to type. */
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
  const [reading, setReading] = useState<Reading | null>(null)
  useEffect(() => {
    if (!typed) return setReading(null)
    let latest = true
    const timer = setTimeout(async () => {
      const judged = await read(typed, minLength, app).catch(() => null) // it could not be loaded: there is no help then
      if (latest) setReading(judged)
    }, pauseMs)
    return () => {
      latest = false
      clearTimeout(timer)
    }
  }, [typed, minLength, app])
  return (
    <p className="strength" data-strength={reading ?? undefined}>
      <span className="strength-bar" aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
      <span className="strength-words" role="status">
        {reading && texts.strength[reading]}
      </span>
    </p>
  )
}

async function read(password: string, minLength: number, app: string): Promise<Reading> {
  const { countGuesses, minGuesses } = await import('@/lib/password/strength')
  if ([...password.normalize('NFC')].length < minLength) return 'short'
  const guesses = countGuesses(password, [app])
  if (guesses < minGuesses) return 'weak'
  return guesses < strongGuesses ? 'good' : 'strong'
}
