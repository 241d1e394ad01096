import { minGuesses } from '@/lib/password/format'
import { countGuesses } from '@/lib/password/strength'

const strongGuesses = 1e12

export type Question = { password: string; context: string[] }

// A worker, because a rating takes longer than one frame, and building the dictionaries
// takes much longer.
addEventListener(
  'message',
  ({ data: { password, context }, ports: [port] }: MessageEvent<Question>) => {
    const guesses = countGuesses(password, context)
    const accepted = guesses < strongGuesses ? 'good' : 'strong'
    port!.postMessage(guesses < minGuesses ? 'weak' : accepted)
  },
)
