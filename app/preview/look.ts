import * as z from 'zod'
import { languages } from '@/lib/texts/language'

export type Look = ReturnType<typeof readLook>

const schemes = ['system', 'light', 'dark'] as const
const widths = ['320', '390', '1280'] as const

/**
 * Returns the values of each part of a look. `width` is that of the frames, in pixels. A
 * function, because the build has no settings, which the list of languages needs.
 */
export function listChoices() {
  return { scheme: schemes, language: languages().map(([tag]) => tag), width: widths }
}

/**
 * Returns the look from the query. A missing or invalid value is replaced by a default.
 */
export function readLook(searchParams: URLSearchParams) {
  const { scheme, language, width } = listChoices()
  const look = z.object({
    scheme: z.enum(scheme).catch('system'),
    language: z.enum(language).catch('en'),
    width: z.enum(width).catch('390'),
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
