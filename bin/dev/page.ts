import { readFileSync } from 'node:fs'
import { accentCss } from '../../lib/brand/accent-color'
import { project } from './local'

const styles = readFileSync(`${project}app/_ui/styles.css`, 'utf8') + accentCss('#4338ca')
const own = `:root{--radius:.625rem;--font:var(--system-font)}.choices .button{display:block;padding:.5rem 1rem;text-align:start}
h1+.choices{margin-block-start:1.5rem}small,pre{display:block;color:var(--ink-soft);font-size:var(--small);font-weight:400}pre{white-space:pre-wrap}`

/** Returns a page of a development tool, with the styles of the app. `main` is HTML. */
export function localPage(name: string, title: string, main: string): string {
  return `<!doctype html><html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} – ${name}</title><style>${styles}${own}</style>
<header class="brand"><span class="brand-mark" aria-hidden="true">${name[0]}</span>${name}</header>
<main class="card"><h1>${title}</h1>${main}</main></html>`
}

/**
 * Returns a list of links. Each consists of a URL, a name, a note, and optionally HTML
 * below the link.
 */
export function listChoices(choices: string[][]): string {
  const items = choices.map(
    ([url, name, note, more = '']) =>
      `<li><a class="button quiet" href="${url}">${name} <small>${note}</small></a>${more}</li>`,
  )
  return `<ul class="choices">${items.join('')}</ul>`
}
