import { ZxcvbnFactory, type ZxcvbnResult } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'

// A check blocks the event loop, for a time that grows with the square of the length.
const maxCheckedCharacters = 36
// How many readings of `P4$$w0rd` are tried. zxcvbn's default of 100 takes five times as
// long, with little effect.
const maxLeetSpellings = 16

// Created when the module loads, so that no request waits for it.
const zxcvbn = new ZxcvbnFactory({
  dictionary,
  graphs: adjacencyGraphs,
  l33tMaxSubstitutions: maxLeetSpellings,
  maxLength: maxCheckedCharacters,
})

/** What the longest part of a password is that attackers guess early. */
export type Weakness = 'common' | 'personal' | 'word' | 'pattern' | 'date'

const weakPatterns: Record<string, Weakness> = {
  repeat: 'pattern',
  sequence: 'pattern',
  spatial: 'pattern',
  wordSequence: 'word',
  date: 'date',
  regex: 'date', // a recent year
}
const weakWords: Record<string, Weakness> = {
  'passwords-common': 'common',
  'diceware-common': 'word',
  userInputs: 'personal',
}

/**
 * Estimates how many guesses an attacker who knows `context`, such as the email address,
 * needs.
 */
// Import this module only when it is needed: its dictionaries are large.
export function countGuesses(password: string, context: string[]): number {
  return estimateStrength(password, context).guesses
}

/** Like `countGuesses`, with what makes the password weak. Null: nothing that has a name. */
export function estimateStrength(
  password: string,
  context: string[],
): { guesses: number; weakness: Weakness | null } {
  const parts = [/@/, /[^\p{L}\p{N}]+/u].flatMap((separator) =>
    context.flatMap((text) => text.split(separator)),
  )
  const words = [...context, ...parts].flatMap((word) =>
    word.length > 2 ? word.slice(0, maxCheckedCharacters) : [],
  )
  const { guesses, sequence } = zxcvbn.check(password.normalize('NFC'), words)

  return { guesses, weakness: findWeakness(sequence) }
}

function findWeakness(sequence: ZxcvbnResult['sequence']): Weakness | null {
  let found: Weakness | null = null
  let length = 0
  for (const { pattern, token, dictionaryName } of sequence) {
    const weakness = weakPatterns[pattern] ?? weakWords[dictionaryName]
    if (!weakness || token.length <= length) continue

    found = weakness
    length = token.length
  }

  return found
}
