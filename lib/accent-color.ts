type Rgb = [red: number, green: number, blue: number]

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]

/** The surfaces of `app/globals.css` that the accent has to stand out from. */
const surfaces = { light: '#ffffff', dark: '#1c1d1f' }

/**
 * The custom properties that an accent colour (`#rrggbb`) gives the pages, as CSS for both schemes. Whatever the colour, text on a button and a
 * link on its surface keep the contrast of 4.5 that WCAG 2.2 AA asks for (SC 1.4.3), because the colour is moved towards black or white until they do.
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
  const button = standOut(color, surface, 3)
  const onButton = contrast(button, '#ffffff') >= 4.5 ? '#ffffff' : '#000000' // one of the two always has 4.5
  return `--accent:${button};--on-accent:${onButton};--accent-text:${standOut(color, surface, 5)}`
}

/** The colour, moved away from the surface in small steps until their contrast suffices. */
function standOut(color: string, surface: string, enough: number): string {
  const target = luminance(parse(surface)) > 0.5 ? black : white
  for (let share = 0; share < 1; share += 0.02) {
    const moved = mix(parse(color), target, share)
    if (contrast(moved, surface) >= enough) return moved
  }
  return format(target)
}

function mix(from: Rgb, to: Rgb, share: number): string {
  return format(from.map((value, index) => Math.round(value + (to[index]! - value) * share)) as Rgb)
}

function parse(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as Rgb
}

function format(rgb: Rgb): string {
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
