import { type MatchExtended, MatcherBaseClass, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'
import { findPhrases, fold, spellings } from './phrases'

/** How many guesses a password has to withstand: what eight random characters are worth. */
export const minGuesses = 1e8

// A judgement holds the event loop, and its cost grows with the square of the length.
const judgedCharacters = 36
// Spellings that are tried for `P4$$w0rd`, which is most of the cost. zxcvbn's default is 100: five times as expensive,
// for one in twenty of the passwords with most of their letters replaced.
const leetSpellings = 16
const contextWords = 50

// Made when the module is loaded: no request waits for it.
const zxcvbn = new ZxcvbnFactory(
  { dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions: leetSpellings },
  { phrase: { Matching: phraseMatcher(), scoring: () => 0, feedback: () => null } }, // a phrase has its guesses already
)

/**
 * How many guesses an attacker needs who guesses well, and knows `context` (an e-mail address, the product's name).
 * Judges the first 36 characters, without accents. Large for a browser: load it when it is needed.
 */
export function countGuesses(password: string, context: string[]): number {
  const parts = [/@/, /[^\p{L}\p{N}]+/u].flatMap((separator) => context.flatMap((text) => text.split(separator)))
  const known = [...context, ...parts].filter((word) => word.length > 2).slice(0, contextWords)
  const words = known.flatMap(spellings).map((word) => word.slice(0, judgedCharacters))
  return zxcvbn.check(fold(password).slice(0, judgedCharacters), words).guesses
}

function phraseMatcher() {
  return class extends MatcherBaseClass {
    override match({ password }: { password: string }): MatchExtended[] {
      return findPhrases(password) as unknown as MatchExtended[] // its types know the patterns of zxcvbn alone
    }
  }
}
