import { accentCss } from '@/lib/page/accent-color'
import { env } from '@/lib/settings/env'
import { brandFiles } from './brand-files'

let styles: string | undefined

/** Returns the styles that the brand and the settings decide, for inlined.tsx. */
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
