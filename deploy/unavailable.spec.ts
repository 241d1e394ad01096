import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { accentPalette, grounds } from '../lib/brand/accent-color'
import { escapeHtml } from '../lib/brand/escape-html'
import { languages } from '../lib/texts/language'
import { textsIn } from '../lib/texts/texts'

const page = readFileSync(new URL('unavailable.html', import.meta.url), 'utf8')

test('the page of the proxies has the texts of the app in every language', () => {
  for (const language of Object.keys(languages)) {
    const { unavailablePage, rateLimitedPage, direction } = textsIn(language)
    const [, block = ''] =
      page.match(
        new RegExp(`<div lang="${language}" dir="${direction}">(.*?)</div>`, 's'),
      ) ?? []
    for (const text of [...Object.values(unavailablePage), rateLimitedPage.reload])
      expect(block).toContain(`>${escapeHtml(text)}<`)
  }
})

test('the page of the proxies has the default colors of the pages', () => {
  const { light, dark } = accentPalette('#0b6e4f')
  const blocks = page.split('@media (prefers-color-scheme: dark)')
  for (const [index, { accent, onAccent, surface }] of [light, dark].entries())
    for (const [name, color] of Object.entries({
      accent,
      'on-accent': onAccent,
      ground: Object.values(grounds)[index],
      surface,
    }))
      expect(blocks[index]).toContain(`--${name}: ${color};`)
})
