import { minGuesses } from '@/lib/password/format'
import { estimateStrength } from '@/lib/password/strength'
import weaknessTexts from '@/lib/texts/weakness-texts.json'

const strongGuesses = 1e12

export type Question = {
  password: string
  context: string[]
  language: string
}

/** `reason`: what makes the password weak, as the end of a sentence, if there is one. */
export type Judgement = { rating: 'weak' | 'good' | 'strong'; reason?: string }

// A worker, because a rating takes longer than one frame, and building the dictionaries
// takes much longer.
addEventListener(
  'message',
  ({ data: { password, context, language }, ports: [port] }: MessageEvent<Question>) => {
    const { guesses, weakness } = estimateStrength(password, context)
    const texts = weaknessTexts[language as keyof typeof weaknessTexts]

    if (guesses >= minGuesses) return answer(guesses < strongGuesses ? 'good' : 'strong')
    answer('weak', weakness ? texts[weakness] : '')

    function answer(rating: Judgement['rating'], reason = ''): void {
      port!.postMessage({ rating, reason } satisfies Judgement)
    }
  },
)
