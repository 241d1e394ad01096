import { ZxcvbnFactory } from '@zxcvbn-ts/core'
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

/**
 * Estimates how many guesses an attacker who knows `context`, such as the email address,
 * needs.
 */
// Import this module only when it is needed: its dictionaries are large.
export function countGuesses(password: string, context: string[]): number {
  const parts = [/@/, /[^\p{L}\p{N}]+/u].flatMap((separator) =>
    context.flatMap((text) => text.split(separator)),
  )
  const words = [...context, ...parts].flatMap((word) =>
    word.length > 2 ? word.slice(0, maxCheckedCharacters) : [],
  )
  return zxcvbn.check(password.normalize('NFC'), words).guesses
}
