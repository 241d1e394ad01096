import { readFileSync } from 'node:fs'
import { accentCss } from '@/lib/page/accent-color'
import { env } from '@/lib/settings/env'
import { brandFiles } from './brand-files'

const isDevelopment = process.env.NODE_ENV === 'development'

let styles: string | undefined

/** Returns the styles of every page, with those of the brand. app/layout.tsx inlines them. */
export function pageStyles(): string {
  if (isDevelopment) return brandStyles() + readFileSync('app/_ui/styles.css', 'utf8')
  // next.config.mjs embeds them. Importing them would make Turbopack emit a separate stylesheet.
  styles ??= brandStyles() + process.env.PAGE_STYLES
  return styles
}

function brandStyles(): string {
  const { ACCENT_COLOR, ACCENT_COLOR_DARK, CORNER_RADIUS, FONT_FAMILY } = env()
  const { font } = brandFiles()
  const fonts = [font && 'Brand', FONT_FAMILY ?? 'var(--system-font)'].filter(Boolean).join(',')
  return [
    font && `@font-face{font-family:Brand;src:url(${font});font-weight:100 900;font-display:swap}`,
    accentCss(ACCENT_COLOR, ACCENT_COLOR_DARK),
    `:root{--radius:${CORNER_RADIUS / 16}rem;--font:${fonts}}`,
  ].join('')
}
