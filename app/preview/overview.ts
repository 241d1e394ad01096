import pageStyles from '@/app/_ui/styles.css?raw'
import type { Link } from '@/bin/dev/examples'
import { accentCss } from '@/lib/brand/accent-color'
import { escapeHtml } from '@/lib/brand/escape-html'
import { env } from '@/lib/settings/env'
import { choices, type Look } from './look'
import styles from './overview.css?raw'
import { createPath } from './states'

const links: Link[] = JSON.parse(process.env.DEV_LINKS || '[]') // from bin/dev/dev.ts

/** Returns the preview page: its links, the choice of a look, and a frame per state. */
export function makeOverview(names: string[], look: Look, search: string): string {
  const { APP_NAME, ACCENT_COLOR } = env()
  const groups = [...new Set(names.map((name) => name.split(':')[0]!))]
  const sections = groups.map((group) => {
    const members = names.filter((name) => name.startsWith(`${group}:`))
    const frames = members.map((name) => makeFrame(name, look, search))
    return `<section id="${makeId(group)}"><h2>${group}</h2><ul>${frames.join('\n')}</ul></section>`
  })

  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Development</title>
<style>${pageStyles}${accentCss(ACCENT_COLOR)}${styles}</style>
<h1>${escapeHtml(APP_NAME)} in development</h1>
<ul class="links">${links.map(makeLink).join('\n')}</ul>
<nav><form onchange="this.submit()">${makeSelect('scheme', look)} ${makeSelect('language', look)} ${makeSelect('width', look)}</form>
${groups.map((group) => `<a href="#${makeId(group)}">${group}</a>`).join('\n')}</nav>
${sections.join('\n')}
</html>
`
}

function makeLink([name, url, note]: Link): string {
  return `<li><a href="${escapeHtml(url)}">${name}</a> ${note}</li>`
}

function makeSelect(key: keyof Look, look: Look): string {
  const options = choices[key].map(
    (value) => `<option${value === look[key] ? ' selected' : ''}>${value}</option>`,
  )
  return `<label>${key} <select name="${key}">${options.join('')}</select></label>`
}

function makeFrame(name: string, { width }: Look, search: string): string {
  const url = escapeHtml(createPath(name) + search)
  return `<li id="${makeId(name)}"><a href="${url}">${name}</a>
<iframe src="${url}" title="${name}" width="${width}" height="760" loading="lazy"></iframe></li>`
}

/** Returns the ID of an element: the end of the path of a state. */
function makeId(name: string): string {
  return createPath(name).slice('/preview/'.length)
}
