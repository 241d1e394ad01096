/** Returns a text with A–Z in lower case. No other letters, because some of them become ASCII in lower case. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
