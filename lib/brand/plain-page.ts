import { env } from '../settings/env'
import type { Texts } from '../texts/en'
import { accentCss } from './accent-color'
import { escapeHtml } from './escape-html'
import { brandFiles, logoHtml } from './files'
import pageStyles from './plain-page.css.txt?raw' // as .css, Turbopack would make it a style sheet of the app

const commentsAndSpace = /\/\*.*?\*\/|\s+/gs

/** Returns an HTML page with the brand, without React or scripts. `main` is HTML. */
export function plainPage(
  texts: Texts,
  nonce: string,
  title: string,
  main: string,
  moreStyles = '',
): string {
  const { language, direction, app } = texts
  const { logo, logoDark } = brandFiles()
  const name = escapeHtml(app)
  const css = (pageStyles + moreStyles).replace(commentsAndSpace, ' ')
  const nameWithMark = `<span aria-hidden="true">${escapeHtml([...app][0]!)}</span>${name}`

  return `<!doctype html>
<html lang="${language}" dir="${direction}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">\
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} – ${name}</title>
<style nonce="${nonce}">${brandStyles()}${css}</style>
<body><header translate="no">${logo ? logoHtml(name, logo, logoDark) : nameWithMark}</header><main><h1>${escapeHtml(title)}</h1>${main}</main>
</html>
`
}

let styles: string | undefined

/** Returns the styles that depend on the brand and the settings. */
export function brandStyles(): string {
  if (styles) return styles

  const { ACCENT_COLOR, ACCENT_COLOR_DARK, CORNER_RADIUS, FONT_FAMILY } = env()
  const { font } = brandFiles()
  const fonts = [font && 'Brand', FONT_FAMILY ?? 'var(--system-font)']
    .filter(Boolean)
    .join(',')
  const fontFace =
    font &&
    `@font-face{font-family:Brand;src:url(${font});font-weight:100 900;font-display:swap}`
  const root = `:root{--radius:${CORNER_RADIUS / 16}rem;--font:${fonts}}`
  styles = [fontFace, accentCss(ACCENT_COLOR, ACCENT_COLOR_DARK), root].join('')

  return styles
}
