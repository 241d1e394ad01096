import fc from 'fast-check'
import { expect, test } from 'playwright/test'
import { accentCss, contrast, surfaces } from './accent-color'

test('contrast follows WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5)
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
})

test('every accent gives readable buttons and links in both schemes', () => {
  const color = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`)
  fc.assert(
    fc.property(color, (accent) => {
      const schemes = [...accentCss(accent).matchAll(/--accent:(.*?);--on-accent:(.*?);--accent-text:(.*?)}/g)]
      expect(schemes).toHaveLength(2)
      for (const [index, [, button, onButton, link]] of schemes.entries()) {
        const surface = Object.values(surfaces)[index]!
        expect(contrast(button!, onButton!)).toBeGreaterThanOrEqual(4.5)
        expect(contrast(button!, surface)).toBeGreaterThanOrEqual(3)
        expect(contrast(link!, surface)).toBeGreaterThanOrEqual(4.5)
      }
    }),
    { examples: [['#000000'], ['#ffffff'], ['#ffff00'], ['#0000ff'], ['#808080']] },
  )
})

test('a colour with enough contrast is unchanged', () => {
  expect(accentCss('#0b6e4f')).toContain(
    ':root{--surface:#ffffff;--accent:#0b6e4f;--on-accent:#ffffff;--accent-text:#0b6e4f}',
  )
})
