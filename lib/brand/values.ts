import { escapeHtml } from './escape-html'

const maxCharacters = 500

/**
 * Returns text from outside as HTML, without characters that change how it is shown. At
 * most 500 characters.
 */
export function showValue(text: string): string {
  const shown = [...text].slice(0, maxCharacters).join('')
  const rest = shown.length < text.length ? ' …' : ''
  const visible = shown.replace(/[^\P{C}\n\t]/gu, '\uFFFD')

  return `<bdi translate="no">${escapeHtml(visible)}${rest}</bdi>`
}

/** Returns a value with a button that copies it. Its page needs the script and styles. */
export function copyableValue(text: string): string {
  return `<span class="copyable"><span>${showValue(text)}</span> <button type="button" class="copy" hidden>Copy</button></span>`
}

export const valueStyles = `
h2{margin:1.5rem 0 .5rem;font-size:1.125rem}
h3{margin:1rem 0 .25rem;font-size:1rem}
ol,dl{margin:0;padding:0;list-style:none}
dt{margin-block-start:.5rem;color:var(--ink-soft)}
dd{margin:0;white-space:pre-wrap}
code,dd{overflow-wrap:anywhere}
.copyable{display:flex;gap:.75rem;align-items:center}
.copyable>span{flex:1;min-width:0}
button.copy{flex:none;min-height:2.75rem;padding:0 1rem;border:1px solid var(--line);border-radius:var(--radius);\
font:inherit;color:inherit;background:none;cursor:pointer}
button:focus-visible{outline:3px solid var(--accent-text);outline-offset:2px}`

// without scripts, the buttons stay hidden, and the values can be selected
export const copyScript = `for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = false
  button.onclick = async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent)
    button.textContent = 'Copied'
  }
}`
