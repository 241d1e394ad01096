import { readFileSync } from 'node:fs'

const isDevelopment = process.env.NODE_ENV === 'development'

/**
 * The text of styles.css, which app/layout.tsx writes into every page. It is not imported, because Turbopack would make a stylesheet
 * of its own of it: next.config.mjs puts it here at build time, and in development it is read anew for each page.
 */
export function pageStyles(): string {
  return isDevelopment ? readFileSync('app/_ui/styles.css', 'utf8') : process.env.PAGE_STYLES!
}
