/**
 * The accent color must contrast with these backgrounds of the card. On a phone, the card
 * is the whole page.
 */
export const surfaces = { light: '#ffffff', dark: '#222327' }

/** The backgrounds around the card: `--ground` of app/_ui/styles.css. */
export const grounds = { light: '#f4f3ef', dark: '#131416' }

/**
 * Returns CSS custom properties for accent colors (`#rrggbb`). Links have the contrast
 * that WCAG 2.2 AA demands.
 */
export function accentCss(color: string, colorInDark?: string): string {
  const { light, dark } = accentPalette(color, colorInDark)
  return `:root{${customProperties(light)}}@media (prefers-color-scheme:dark){:root{${customProperties(dark)}}}`
}

/**
 * Returns the colors of `accentCss`, for documents that can't use custom properties, such
 * as emails.
 */
export function accentPalette(
  color: string,
  colorInDark = adaptToDark(color),
): { light: Palette; dark: Palette } {
  return {
    light: paletteOn(surfaces.light, color),
    dark: paletteOn(surfaces.dark, colorInDark),
  }
}

/**
 * Returns the color for dark pages. The default color is replaced, because its contrast
 * would be only 2.7 there.
 */
function adaptToDark(color: string): string {
  return color === '#0b6e4f' ? '#6fd3a0' : color
}

export type Palette = ReturnType<typeof paletteOn>

function paletteOn(surface: string, color: string) {
  const opposite = surface === surfaces.dark ? '#ffffff' : '#000000'
  const accent = isLost(color, surface) ? opposite : color
  const onAccent = contrast(accent, '#ffffff') >= 4.5 ? '#ffffff' : '#000000' // one of the two always reaches 4.5
  const accentEdge =
    // SC 1.4.11
    contrast(accent, surface) >= 3 ? accent : withContrast(accent, surface, 3.2)

  // A shade with more contrast to the label. A color that is nearly black or white gets a
  // shade with less contrast.
  const isExtreme = contrast(accent, onAccent) > 16
  const accentHover = mix(
    accent,
    (onAccent === '#ffffff') === isExtreme ? '#ffffff' : '#000000',
    14,
  )

  return {
    surface,
    accent,
    accentHover,
    accentEdge,
    onAccent,
    accentText: withContrast(accent, surface, 5),
  }
}

/**
 * Whether a gray is too similar to the surface, such as black on a dark page. A button
 * would look disabled.
 */
function isLost(color: string, surface: string): boolean {
  const rgb = parse(color)
  return Math.max(...rgb) - Math.min(...rgb) < 24 && contrast(color, surface) < 1.6
}

function customProperties({
  surface,
  accent,
  accentHover,
  accentEdge,
  onAccent,
  accentText,
}: Palette): string {
  return (
    `--surface:${surface};--accent:${accent};--accent-hover:${accentHover};--accent-edge:${accentEdge};` +
    `--on-accent:${onAccent};--accent-text:${accentText};--glow:${accent}1f`
  )
}

/**
 * Darkens or brightens a color until its contrast to the surface is enough. If necessary,
 * then mixes it with white.
 */
function withContrast(color: string, surface: string, minContrast: number): string {
  const brightest = format(
    parse(color).map((value) => (value * 255) / Math.max(...parse(color), 1)),
  )
  const way =
    surface === surfaces.dark ? [color, brightest, '#ffffff'] : [color, '#000000']

  for (let leg = 1; ; leg++)
    for (let percent = 0; percent <= 100; percent++) {
      const mixed = mix(way[leg - 1]!, way[leg]!, percent)
      if (contrast(mixed, surface) >= minContrast) return mixed
    }
}

function mix(from: string, to: string, percent: number): string {
  const end = parse(to)
  return format(
    parse(from).map(
      (value, channel) => value + ((end[channel]! - value) * percent) / 100,
    ),
  )
}

function format(rgb: number[]): string {
  return `#${rgb.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`
}

/**
 * Returns the contrast of two colors (`#rrggbb`), from 1 to 21 (WCAG 2.2, relative
 * luminance).
 */
export function contrast(one: string, other: string): number {
  const ratio = (luminance(one) + 0.05) / (luminance(other) + 0.05)
  return Math.max(ratio, 1 / ratio)
}

function luminance(color: string): number {
  const [red, green, blue] = parse(color).map((value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  )
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function parse(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}
