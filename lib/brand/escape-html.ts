/**
 * Escapes a text for the content of an HTML element, or for an attribute in double
 * quotes.
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
