import { type MatchExtended, MatcherBaseClass, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'
import { findPhrases, fold, spellings } from './phrases'

// A check blocks the event loop, and its cost grows with the square of the length.
const maxCheckedCharacters = 36
// The spellings tried for `P4$$w0rd`, which cause most of the cost. zxcvbn's default of 100 is five
// times as expensive, and catches one in twenty more of the passwords with most letters replaced.
const maxLeetSpellings = 16
const maxContextWords = 50

// Built when the module loads, so that no request waits for it.
const zxcvbn = new ZxcvbnFactory(
  { dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions: maxLeetSpellings },
  // findPhrases has already set the guesses
  { phrase: { Matching: phraseMatcher(), scoring: () => 0, feedback: () => null } },
)

/**
 * Returns the guesses needed by a skilled attacker who knows `context` (such as the e-mail address
 * and the product's name). Checks the first 36 characters, without accents. Large for a browser:
 * import it lazily.
 */
export function countGuesses(password: string, context: string[]): number {
  const parts = [/@/, /[^\p{L}\p{N}]+/u].flatMap((separator) => context.flatMap((text) => text.split(separator)))
  const known = [...context, ...parts].filter((word) => word.length > 2).slice(0, maxContextWords)
  const words = known.flatMap(spellings).map((word) => word.slice(0, maxCheckedCharacters))
  return zxcvbn.check(fold(password).slice(0, maxCheckedCharacters), words).guesses
}

function phraseMatcher() {
  return class extends MatcherBaseClass {
    override match({ password }: { password: string }): MatchExtended[] {
      // the type lists zxcvbn's own patterns only
      return findPhrases(password) as unknown as MatchExtended[]
    }
  }
}
