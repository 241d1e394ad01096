import { readFileSync } from 'node:fs'

const isDevelopment = process.env.NODE_ENV === 'development'

/**
 * Returns the text of styles.css, which app/layout.tsx inlines into every page. Importing it would
 * make Turbopack emit a separate stylesheet. next.config.mjs embeds it at build time; in
 * development it is read for each page.
 */
export function pageStyles(): string {
  return isDevelopment ? readFileSync('app/_ui/styles.css', 'utf8') : process.env.PAGE_STYLES!
}
