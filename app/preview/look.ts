import * as z from 'zod'
import { languages } from '@/lib/texts/language'

export type Look = ReturnType<typeof readLook>

/** The values of each part of a look. `width` is that of the frames, in pixels. */
export const choices = {
  scheme: ['system', 'light', 'dark'],
  language: Object.keys(languages),
  width: ['320', '390', '1280'],
} as const

/**
 * Returns the look from the query. A missing or invalid value is replaced by a default.
 */
export function readLook(searchParams: URLSearchParams) {
  const look = z.object({
    scheme: z.enum(choices.scheme).catch('system'),
    language: z.enum(choices.language).catch('en'),
    width: z.enum(choices.width).catch('390'),
  })

  return look.parse(Object.fromEntries(searchParams))
}

/** Returns a page or an email in the color scheme of a look. */
export function showInScheme(html: string, { scheme }: Look): string {
  if (scheme === 'system') return html

  // not in scripts, whose texts React compares with the page
  const parts = html.split(/(<script\b[\s\S]*?<\/script>)/)
  return parts
    .map((part, index) => (index % 2 === 1 ? part : forceScheme(part, scheme)))
    .join('')
}

function forceScheme(html: string, scheme: string): string {
  return html.replace(
    /\(prefers-color-scheme:\s*(light|dark)\)|color-scheme:\s*light dark/g,
    (_, asked?: string) => {
      if (!asked) return `color-scheme:${scheme}`
      return asked === scheme ? '(min-width:0)' : '(max-width:0)'
    },
  )
}
