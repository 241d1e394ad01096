import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'

/** How many guesses a password has to withstand: what eight random characters are worth. */
export const minGuesses = 1e8

let zxcvbn: ZxcvbnFactory | undefined

/** How many guesses somebody needs who guesses well, and knows `context` (an e-mail address, the product's name). Large for a browser: load it when it is needed. */
export function countGuesses(password: string, context: string[]): number {
  zxcvbn ??= new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
  const parts = [/@/, /[^\p{L}\p{N}]+/u].flatMap((separator) => context.flatMap((text) => text.split(separator)))
  const words = [...context, ...parts].filter((word) => word.length > 2)
  return zxcvbn.check(password, words).guesses
}
