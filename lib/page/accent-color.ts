type Rgb = [red: number, green: number, blue: number]

/** What the accent has to stand out from: the card, which on a phone is the page. */
export const surfaces = { light: '#ffffff', dark: '#1c1d1f' }

/**
 * The custom properties that an accent colour (`#rrggbb`) gives the pages, as CSS for both schemes. Whatever the colour, text on a button and a
 * link on its surface keep the contrast of 4.5 that WCAG 2.2 AA asks for (SC 1.4.3), because it is made darker or lighter, in its own hue, until they do.
 */
export function accentCss(color: string): string {
  return `:root{${properties(color, surfaces.light)}}@media (prefers-color-scheme:dark){:root{${properties(color, surfaces.dark)}}}`
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2, relative luminance). */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(parse(one)), luminance(parse(other))].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

function properties(color: string, surface: string): string {
  const button = standOut(color, surface, 3.2)
  const onButton = contrast(button, '#ffffff') >= 4.5 ? '#ffffff' : '#000000' // one of the two always has 4.5
  return `--surface:${surface};--accent:${button};--on-accent:${onButton};--accent-text:${standOut(color, surface, 5)}`
}

/** The colour, made darker on a light surface and lighter on a dark one, until their contrast suffices. */
function standOut(color: string, surface: string, enough: number): string {
  const step = luminance(parse(surface)) > 0.5 ? -0.01 : 0.01
  const [hue, saturation, lightness] = toHsl(parse(color))
  for (let steps = 0; steps <= 100; steps++) {
    const moved =
      steps === 0 ? color : format(fromHsl(hue, saturation, Math.min(1, Math.max(0, lightness + steps * step))))
    if (contrast(moved, surface) >= enough) return moved
  }
  throw new Error('unreachable: black or white stands out from any surface')
}

function toHsl(rgb: Rgb): [hue: number, saturation: number, lightness: number] {
  const [red, green, blue] = rgb.map((value) => value / 255) as Rgb
  const most = Math.max(red, green, blue)
  const range = most - Math.min(red, green, blue)
  const lightness = most - range / 2
  if (range === 0) return [0, 0, lightness]
  const sixth =
    most === red
      ? ((green - blue) / range + 6) % 6
      : most === green
        ? (blue - red) / range + 2
        : (red - green) / range + 4
  return [sixth * 60, range / (1 - Math.abs(2 * lightness - 1)), lightness]
}

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const channel = (offset: number) => {
    const place = (offset + hue / 30) % 12
    return Math.round(
      255 *
        (lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(place - 3, 9 - place, 1))),
    )
  }
  return [channel(0), channel(8), channel(4)]
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
