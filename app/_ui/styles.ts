import { readFileSync } from 'node:fs'
import { accentCss } from '@/lib/page/accent-color'
import { env } from '@/lib/settings/env'
import { brandFiles } from './brand-files'

let styles: string | undefined

/** Returns the styles that the brand and the settings decide. app/layout.tsx inlines them. */
export function brandStyles(): string {
  if (styles !== undefined) return styles
  const { ACCENT_COLOR, ACCENT_COLOR_DARK, CORNER_RADIUS, FONT_FAMILY } = env()
  const { font } = brandFiles()
  const fonts = [font && 'Brand', FONT_FAMILY ?? 'var(--system-font)'].filter(Boolean).join(',')
  styles = [
    font && `@font-face{font-family:Brand;src:url(${font});font-weight:100 900;font-display:swap}`,
    accentCss(ACCENT_COLOR, ACCENT_COLOR_DARK),
    `:root{--radius:${CORNER_RADIUS / 16}rem;--font:${fonts}}`,
  ].join('')
  return styles
}

/** Returns the other styles in development: a change shows without a build. */
export function stylesInDevelopment(): string | undefined {
  return process.env.NODE_ENV === 'development' ? readFileSync('app/_ui/styles.css', 'utf8') : undefined
}
