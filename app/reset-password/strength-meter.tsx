import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'
import { formatIssue } from '@/lib/password/format'
import { minGuesses } from '@/lib/password/thresholds'

const debounceMs = 350 // rates the password when typing pauses
const strongGuesses = 1e12

type Rating = keyof Texts['reset']['strength']

type Properties = {
  texts: Texts['reset']
  minLength: number
  context: string[]
  password: string
  /** Whether the user types, and can use advice: only then does the judge load. */
  byHand: boolean
}

/**
 * Rates a password by the rules of the server, which decides. The judge of its strength runs in a
 * worker, which loads when the user begins to type.
 */
export function StrengthMeter({ texts, minLength, context, password, byHand }: Properties) {
  const [rating, setRating] = useState<Rating | null>(null)
  useEffect(() => {
    if (!password) return setRating(null)
    let latest = true
    const timer = setTimeout(async () => {
      const rated = await rate(password, minLength, context, byHand).catch(() => null) // not loaded: no rating
      if (latest) setRating(rated)
    }, debounceMs)
    return () => {
      latest = false
      clearTimeout(timer)
    }
  }, [password, minLength, context, byHand])
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

async function rate(password: string, minLength: number, context: string[], byHand: boolean): Promise<Rating | null> {
  const issue = formatIssue(password, minLength)
  if (issue === 'too_short') return 'short'
  if (issue === 'too_long') return 'long'
  if (issue) return 'invalid'
  if (!judge && !byHand) return null
  const guesses = await countGuesses(password, context)
  if (guesses < minGuesses) return 'weak'
  return guesses < strongGuesses ? 'good' : 'strong'
}

let judge: Worker | undefined
let questions = 0

/** Asks the worker. Rejects if it does not load. */
function countGuesses(password: string, context: string[]): Promise<number> {
  judge ??= new Worker(new URL('./strength-worker.ts', import.meta.url))
  const worker = judge
  const id = ++questions
  return new Promise((resolve, reject) => {
    const end = () => {
      worker.removeEventListener('message', answer)
      worker.removeEventListener('error', fail)
    }
    const answer = ({ data }: MessageEvent<{ id: number; guesses: number }>) => {
      if (data.id !== id) return
      end()
      resolve(data.guesses)
    }
    const fail = (event: ErrorEvent) => {
      end()
      judge = undefined // the next password tries again
      reject(event.error)
    }
    worker.addEventListener('message', answer)
    worker.addEventListener('error', fail)
    worker.postMessage({ id, password, context })
  })
}
