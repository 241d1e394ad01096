// Cleans what people type and paste: keyboards of other scripts, input methods and other
// programs add characters that nobody sees or means. This file also runs in browsers.

// No code and no address is longer. For long texts, the patterns below would be slow.
const maxLength = 1_000

// Default ignorable: zero-width characters, bidi marks, byte-order marks, soft hyphens.
// The others look like a hyphen or a space, but are symbols or letters: minus signs, the
// box-drawing line, the long vowel mark (the hyphen key in Japanese), the Braille blank.
const separator =
  /[\p{DI}\p{Cc}\p{Cf}\p{M}\p{P}\p{Z}\s\u02D7\u207B\u208B\u2212\u2500\u2501\u2796\u2800\u30FC\uFF70]/gu

/**
 * Returns the letters and digits of a typed code. Removes spaces, dashes, other punctuation
 * and invisible characters. Converts the digits of every script to 0–9. Empty if `text` is
 * too long for a code.
 */
export function cleanCode(text: string): string {
  if (text.length > maxLength) return ''

  return text.replace(separator, '').replace(/\p{Nd}/gu, toAsciiDigit)
}

/** Converts a decimal digit. In every script, the digits 0 to 9 follow each other. */
function toAsciiDigit(digit: string): string {
  const given = digit.codePointAt(0)!
  let first = given
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1

  return String((given - first) % 10)
}

// In some scripts, joiners are parts of words. Next to ASCII, they have no meaning.
const invisible = /(?!\p{Join_Control})\p{DI}/gu
const looseJoiner = /(^|\p{ASCII})\p{Join_Control}+|\p{Join_Control}+(?=\p{ASCII}|$)/gu
const fullWidth = /[\uFF01-\uFF5E]/g

// of a sentence or a list in which the address stood, in any script
const finalMark = /[\s.,;:\u060C\u061B\u3001\u3002\uFF61\uFF64]+$/u
const namedAddress = /^[^<>]*<([^<>]+)>$/
const quoted =
  /^["'([\u00AB\u2018\u201A\u201C\u201E](.+)["')\]\u00BB\u2018\u2019\u201C\u201D]$/u
const mailLink = /^mailto:([^?]+)(\?.*)?$/i

/**
 * Returns a typed or pasted email address without what surrounds it: spaces, invisible
 * characters, `<>` with a name before it (RFC 5322), quotes, `mailto:` and final marks.
 * Converts full-width characters. Changes nothing else, so the result may be no address.
 */
export function cleanEmail(text: string): string {
  if (text.length > maxLength) return text

  const visible = text.replace(invisible, '').replace(looseJoiner, '$1')
  const narrow = visible.replace(fullWidth, toAscii).replace('\uFE6B', '@').trim()

  const bare = narrow
    .replace(finalMark, '')
    .replace(namedAddress, '$1')
    .trim()
    .replace(quoted, '$1')
    .replace(mailLink, '$1')

  return bare
    .replace(finalMark, '')
    .replace(/[\t\p{Zs}]*@[\t\p{Zs}]*/u, '@')
    .trim()
}

function toAscii(fullWidthCharacter: string): string {
  return String.fromCharCode(fullWidthCharacter.charCodeAt(0) - 0xfee0)
}
