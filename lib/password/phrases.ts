import { littleWords, passwordWords } from './words'

/** A part of a password, and the number of guesses for an attacker who has our word list. */
export type Phrase = { pattern: 'phrase'; i: number; j: number; token: string; guesses: number }

// The guesses for each kind of part, and the factors for variants. Three listed words are just
// enough (500³ > 10⁸), as the page advises.
const perWord = 500
const perLittleWord = 20
// `Sommer`, `SOMMER`: two variants, and the words of a phrase mostly use the same one
const forCapitals = 1.4
const forMixedCase = 20
const forLeet = 4
const forSplitWord = 3 // `ich.liebe.dich`
const perYear = 50
const perCommonNumber = 10
const perCommonSymbol = 3
const perSymbol = 15

/**
 * Returns a text with accents, marks and presentation forms folded, and its case kept. Removes the
 * marks of European scripts and of Arabic only: those of Indic scripts are vowels, and without them
 * a good password would look short.
 */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f\u064b-\u065f\u0670\u0640]/g, '')
    .normalize('NFC')
    .replace(/[ßẞæÆœŒøØłŁđĐıةىیک٠-٩۰-۹]/g, (character) => sameAs[character] ?? String(character.charCodeAt(0) & 15))
}

const sameAs: Record<string, string> = {
  ...{ ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ø: 'o', Ø: 'O', ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i' },
  ...{ ة: 'ه', ى: 'ي', ی: 'ي', ک: 'ك' },
}

/** Returns the folded spellings of a word: `muller` and `mueller` for `müller`. */
export function spellings(word: string): string[] {
  const german = word.normalize('NFC').replace(/[äöü]/gi, (vowel) => `${fold(vowel)}e`)
  return [...new Set([fold(word), fold(german)])]
}

type Node = { next: Map<string, Node>; guesses?: number; listed?: boolean }

function wordTree(): Node {
  const tree: Node = { next: new Map() }
  const add = (words: string, guesses: number) => {
    for (const word of words.split(/\s+/).filter(Boolean).flatMap(spellings)) {
      let node = tree
      for (const character of word.toLowerCase()) {
        const next = node.next.get(character) ?? { next: new Map() }
        node.next.set(character, next)
        node = next
      }
      node.guesses = guesses
      node.listed = guesses === perWord && word.length > 2
    }
  }
  add(passwordWords, perWord)
  add(littleWords, perLittleWord)
  return tree
}

const leet: Record<string, string> = {
  ...{ '0': 'o', '1': 'il', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', '€': 'e', '!': 'il', '|': 'il', $: 's', '+': 't', '(': 'c' },
}

const root = wordTree()

type Part = { end: number; guesses: number; listed: boolean }

/**
 * Returns the parts of a folded password that consist of listed words, years, common numbers and
 * symbols: `Sommer2026!`, `hallo123welt`. zxcvbn overestimates these, because it considers any
 * three or more parts hard to guess.
 */
export function findPhrases(password: string): Phrase[] {
  const parts = Array.from({ length: password.length }, (_, start) => [
    ...wordsAt(password, start),
    ...fillersAt(password, start),
  ])
  const phrases: Phrase[] = []
  const add = (i: number, end: number, guesses: number) => {
    if (guesses < 10 ** (end - i))
      phrases.push({ pattern: 'phrase', i, j: end - 1, token: password.slice(i, end), guesses })
  }
  for (let i = 0; i < password.length; i++) {
    for (const [end, guesses] of fewestGuesses(parts, i, 4).entries()) add(i, end, guesses)
  }
  // words of three letters count only if the whole password is a phrase (`été 2026`): elsewhere
  // they are chance
  add(0, password.length, fewestGuesses(parts, 0, 3)[password.length]!)
  return phrases
}

/**
 * Returns the fewest guesses for a phrase from `start`, indexed by its end. A phrase has at least
 * one listed word of at least `letters` letters.
 */
function fewestGuesses(parts: Part[][], start: number, letters: number): number[] {
  const fillers = new Array<number>(parts.length + 1).fill(Infinity)
  const phrases = new Array<number>(parts.length + 1).fill(Infinity)
  fillers[start] = 1
  for (let at = start; at < parts.length; at++) {
    const [before, soFar] = [fillers[at]!, phrases[at]!]
    if (before === Infinity && soFar === Infinity) continue
    for (const { end, guesses, listed } of parts[at]!) {
      const isWord = listed && end - at >= letters
      phrases[end] = Math.min(phrases[end]!, guesses * (isWord ? Math.min(before, soFar) : soFar))
      if (!isWord) fillers[end] = Math.min(fillers[end]!, guesses * before)
    }
  }
  return phrases
}

function wordsAt(password: string, start: number): Part[] {
  const found = new Map<number, Part>()
  const walk = (node: Node, at: number, isLeet: boolean, isSplit: boolean) => {
    if (node.guesses && at > start) {
      const variants = caseFactor(password.slice(start, at)) * (isLeet ? forLeet : 1) * (isSplit ? forSplitWord : 1)
      const guesses = node.guesses * variants
      const known = found.get(at)
      if (!known || guesses < known.guesses) found.set(at, { end: at, guesses, listed: node.listed === true })
    }
    if (at === password.length) return
    const character = password.charAt(at).toLowerCase()
    const same = node.next.get(character)
    if (same) walk(same, at + 1, isLeet, isSplit)
    for (const letter of leet[character] ?? '') {
      const next = node.next.get(letter)
      if (next) walk(next, at + 1, true, isSplit)
    }
    if (at > start && isSeparator.test(character) && !isSeparator.test(password.charAt(at - 1)))
      walk(node, at + 1, isLeet, true)
  }
  walk(root, start, false, false)
  return [...found.values()]
}

const isSeparator = /[ ._'’-]/

function caseFactor(token: string): number {
  const upper = token.replace(/[^\p{Lu}]/gu, '').length
  if (upper === 0) return 1
  const capitalised = upper === 1 && /^\P{L}*\p{Lu}/u.test(token)
  return capitalised || !/\p{Ll}/u.test(token) ? forCapitals : forMixedCase
}

const commonNumbers = new Set(['007', '11', '365', '247', '786', '911', '0815', '1312', '4711'])

function isCommonNumber(number: string): boolean {
  const isSequence = '01234567890'.includes(number) || '9876543210'.includes(number)
  return isSequence || /^(?:(.)\1*|0\d)$/.test(number) || commonNumbers.has(number)
}

/** Returns the numbers and symbols that start at `start`, as users put them beside words. */
function fillersAt(password: string, start: number): Part[] {
  const digits = password.slice(start).match(/^\d{1,12}/)?.[0] ?? ''
  const parts: Part[] = []
  for (let length = 1; length <= digits.length; length++) {
    const number = digits.slice(0, length)
    const guesses = /^(?:19|20)\d\d$/.test(number) ? perYear : isCommonNumber(number) ? perCommonNumber : 10 ** length
    parts.push({ end: start + length, guesses, listed: false })
  }
  const symbols = password.slice(start).match(/^([^\p{L}\p{N}])\1*/u)?.[0]
  if (symbols) {
    const guesses = /[!. _-]/.test(symbols) ? perCommonSymbol : perSymbol
    parts.push({ end: start + symbols.length, guesses, listed: false })
  }
  return parts
}
