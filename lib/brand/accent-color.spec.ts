import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accentCss, accentPalette, contrast, surfaces } from './accent-color'

test('the contrast is computed as in WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5)
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
})

test('the default color is different on dark pages', () => {
  const { light, dark } = accentPalette('#0b6e4f')
  expect([light.accent, dark.accent, dark.accentEdge]).toEqual([
    '#0b6e4f',
    '#6fd3a0',
    '#6fd3a0',
  ])
})

test('every accent color results in readable buttons and links in both schemes', () => {
  const color = fc
    .integer({ min: 0, max: 0xffffff })
    .map((number) => `#${number.toString(16).padStart(6, '0')}`)
  fc.assert(
    fc.property(color, (accent) => {
      const schemes = [
        ...accentCss(accent).matchAll(
          /--accent:(.*?);--accent-hover:(.*?);--accent-edge:(.*?);--on-accent:(.*?);--accent-text:(.*?);/g,
        ),
      ]
      expect(schemes).toHaveLength(2)
      for (const [index, [, button, hover, edge, onButton, link]] of schemes.entries()) {
        const surface = Object.values(surfaces)[index]!
        expect(contrast(button!, onButton!)).toBeGreaterThanOrEqual(4.5)
        expect(contrast(hover!, onButton!)).toBeGreaterThanOrEqual(4.5)
        expect(hover).not.toBe(button)
        expect(contrast(edge!, surface)).toBeGreaterThanOrEqual(3)
        expect(contrast(link!, surface)).toBeGreaterThanOrEqual(4.5)
      }
    }),
    { examples: [['#000000'], ['#ffffff'], ['#ffff00'], ['#0000ff'], ['#808080']] },
  )
})

test('a color with enough contrast is unchanged', () => {
  expect(accentCss('#0b6e4f')).toContain(
    '--accent:#0b6e4f;--accent-hover:#095f44;--accent-edge:#0b6e4f;--on-accent:#ffffff;--accent-text:#0b6e4f;',
  )
})

test('a button has the accent color, unless that is black in the dark scheme or white in the light scheme', () => {
  const buttons = (color: string) =>
    Object.values(accentPalette(color)).map(({ accent, onAccent }) => [accent, onAccent])
  expect(buttons('#ffd400')).toEqual([
    ['#ffd400', '#000000'],
    ['#ffd400', '#000000'],
  ])
  expect(buttons('#000000')).toEqual([
    ['#000000', '#ffffff'],
    ['#ffffff', '#000000'],
  ])
  expect(buttons('#ffffff')).toEqual([
    ['#000000', '#ffffff'],
    ['#ffffff', '#000000'],
  ])
})

test('the dark scheme can have a color of its own', () => {
  const { light, dark } = accentPalette('#0b6e4f', '#6fd3a0')
  expect([light.accent, dark.accent]).toEqual(['#0b6e4f', '#6fd3a0'])
})
