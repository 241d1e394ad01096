type Rgb = [red: number, green: number, blue: number]

/** The backgrounds that the accent must contrast with: the card, which is the whole page on a phone. */
export const surfaces = { light: '#ffffff', dark: '#1c1d1f' }

/**
 * Returns the CSS custom properties of the accent colours (`#rrggbb`), for light and dark schemes. Buttons keep the
 * colour: their label is black or white, and an edge marks them where the colour is close to the surface. Links are
 * darkened or lightened, in their own hue, until they have the contrast of 4.5 that WCAG 2.2 AA requires (SC 1.4.3).
 */
export function accentCss(color: string, colorInDark = inDark(color)): string {
  const { light, dark } = accentPalette(color, colorInDark)
  return `:root{${customProperties(light)}}@media (prefers-color-scheme:dark){:root{${customProperties(dark)}}}`
}

/** Returns the contrast of two colours (`#rrggbb`), from 1 to 21 (WCAG 2.2, relative luminance). */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(parse(one)), luminance(parse(other))].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

/** The colours of buttons and links on a surface. */
export type Palette = { surface: string; accent: string; accentEdge: string; onAccent: string; accentText: string }

/** Returns the colours that `accentCss` assigns, for documents without custom properties. */
export function accentPalette(color: string, colorInDark = inDark(color)): { light: Palette; dark: Palette } {
  return { light: paletteOn(surfaces.light, color), dark: paletteOn(surfaces.dark, colorInDark) }
}

/** The default colour has a lighter one for dark pages, where it would have a contrast of 2.7. */
function inDark(color: string): string {
  return color === '#0b6e4f' ? '#6fd3a0' : color
}

function paletteOn(surface: string, color: string): Palette {
  const accent = isLost(color, surface) ? inverted(surface) : color
  // one of the two always reaches 4.5
  const onAccent = contrast(accent, '#ffffff') >= 4.5 ? '#ffffff' : '#000000'
  // WCAG 2.2 SC 1.4.11
  const accentEdge = contrast(accent, surface) >= 3 ? accent : withContrast(accent, surface, 3.2)
  return { surface, accent, accentEdge, onAccent, accentText: withContrast(accent, surface, 5) }
}

/** Whether a grey is so close to the surface that a button would look disabled, such as black in dark. */
function isLost(color: string, surface: string): boolean {
  const rgb = parse(color)
  return Math.max(...rgb) - Math.min(...rgb) < 24 && contrast(color, surface) < 1.6
}

function inverted(surface: string): string {
  return surface === surfaces.dark ? '#ffffff' : '#000000'
}

function customProperties({ surface, accent, accentEdge, onAccent, accentText }: Palette): string {
  return (
    `--surface:${surface};--accent:${accent};--accent-edge:${accentEdge};` +
    `--on-accent:${onAccent};--accent-text:${accentText}`
  )
}

/** Darkens the colour on a light surface, or lightens it on a dark one, until the contrast suffices. */
function withContrast(color: string, surface: string, minContrast: number): string {
  const step = luminance(parse(surface)) > 0.5 ? -0.01 : 0.01
  const rgb = parse(color)
  for (let steps = 0; steps <= 100; steps++) {
    const candidate = format(withLightness(rgb, Math.min(1, Math.max(0, lightnessOf(rgb) + steps * step))))
    if (contrast(candidate, surface) >= minContrast) return candidate
  }
  throw new Error('unreachable: black or white stands out from any surface')
}

/** Changes the lightness of a colour (HSL). Keeps its hue and saturation: the chroma follows the lightness. */
function withLightness(rgb: Rgb, lightness: number): Rgb {
  const mostChroma = (light: number) => 1 - Math.abs(2 * light - 1)
  const old = lightnessOf(rgb)
  const scale = mostChroma(lightness) / (mostChroma(old) || 1)
  return rgb.map((value) => Math.round(255 * lightness + (value - 255 * old) * scale)) as Rgb
}

function lightnessOf(rgb: Rgb): number {
  return (Math.max(...rgb) + Math.min(...rgb)) / 2 / 255
}

function parse(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as Rgb
}

function format(rgb: Rgb): string {
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  ) as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
