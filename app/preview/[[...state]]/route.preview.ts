// The preview page shows every state of the app's pages, and every email, in any look.
// Only development and tests compile this file (see next.config.mjs). The preview adds a
// script to a page of the app, to produce the state.
import PQueue from 'p-queue'
import { z } from 'zod'
import pageStyles from '@/app/_ui/styles.css?raw'
import { type LinkState, pathOf, type State, states } from '@/app/preview/states'
import type { Link } from '@/bin/dev/examples'
import { accentCss } from '@/lib/brand/accent-color'
import { escapeHtml } from '@/lib/brand/escape-html'
import { substitutePage } from '@/lib/brand/substitute-page'
import { exchangeSsoCode } from '@/lib/code/exchange'
import { issueSsoCode } from '@/lib/code/issue'
import { unknownCaller } from '@/lib/contract/caller'
import { prisma } from '@/lib/database/prisma'
import { type MailKindName, mailKinds } from '@/lib/mail/kinds'
import { compose } from '@/lib/mail/messages'
import { issueResetToken } from '@/lib/password/reset'
import { makeChallenge } from '@/lib/second-factor/challenge'
import { findFactor } from '@/lib/second-factor/find'
import { env, sendsMail } from '@/lib/settings/env'
import { languages } from '@/lib/texts/language'
import { createUser, findUserByEmail, signOutUser } from '@/lib/user/user'
import frameScript from '../frame.inline.js?raw'
import styles from '../overview.css?raw'

type Look = ReturnType<typeof lookOf>

const email = `reader-${process.pid}@preview.example` // the user of the previews, one per process
const tags = () => languages().map(([tag]) => tag) // the language tags
const schemes = ['system', 'light', 'dark'] as const
const [hexColor, plainName] = [/^#[0-9a-f]{6}$/i, /^[^"'\\<>$]{1,60}$/] // a plain name needs no escaping in scripts
const widths = ['320', '390', '1280']
// one at a time, because a new reset link invalidates the earlier one
const opening = new PQueue({ concurrency: 1 })
const plainPage =
  '<!doctype html><style>:root{color-scheme:light dark}pre{white-space:pre-wrap}</style>'
const htmlHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
}
const links: Link[] = JSON.parse(process.env.DEV_LINKS || '[]') // from bin/dev/dev.ts

export async function GET(request: Request): Promise<Response> {
  const { pathname, search, searchParams } = new URL(request.url)
  if (pathname === '/preview/stay') return new Response(null, { status: 204 }) // keeps the browser on the page
  if (pathname.startsWith('/preview/late/'))
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve))

  const look = lookOf(searchParams)
  const names = availableNames()
  if (pathname === '/preview')
    return new Response(overview(names, look, search), { headers: htmlHeaders })

  const name = names.find((each) => pathOf(each) === pathname)
  if (name && states[name]) return opening.add(() => pageIn(states[name]!, look))
  if (name) return new Response(mailIn(name, look), { headers: htmlHeaders })

  return new Response(null, {
    status: 404,
    headers: { 'Content-Type': 'text/javascript' },
  }) // for a failing script
}

async function pageIn(
  { path, link, signedIn, substitute, scripts, ...state }: State,
  look: Look,
) {
  const own = link ? `${path}?token=${await openLink(link)}` : path
  const headers = {
    Cookie: `language=${look.language}; ${signedIn ? await signInReader(signedIn) : ''}`,
  }
  const response = substitute
    ? new Response(substitutePage(substitute, new Headers(headers), '', 700))
    : await fetch(env().PUBLIC_URL + own, { headers })
  const policy = response.headers.get('content-security-policy') ?? ''
  const [, nonce = ''] = policy.match(/'nonce-([^']+)'/) ?? []
  const data = escapeHtml(JSON.stringify({ ...state, path: own, scripts }))
  const script = `<script nonce="${nonce}" data-state="${data}">${frameScript}</script>`
  const accent = look.color === env().ACCENT_COLOR ? '' : accentCss(look.color)
  const style = `<style nonce="${nonce}">${accent}:root{--radius:${look.radius / 16}rem}nextjs-portal{display:none}</style>`
  let html = (await response.text()).replace(
    /<head>|(?=<title>)/,
    (head) => head + script,
  )

  html = html.replace(/(?=<\/head>|<body|<main)/, style)
  if (scripts) html = html.replaceAll('/_next/static/', `/preview/${scripts}/`)

  const framed = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")

  return new Response(inLook(html, look), {
    headers: { ...htmlHeaders, 'Content-Security-Policy': framed },
  })
}

/** Returns the names of the states and emails that the app has with its settings. */
function availableNames(): string[] {
  const { PASSWORD_SIGN_IN, SECOND_FACTOR } = env()
  const available = Object.keys(states).filter((name) => {
    const {
      passwords = PASSWORD_SIGN_IN,
      mail = sendsMail(),
      secondFactor = SECOND_FACTOR,
    } = states[name]!

    return (
      passwords === PASSWORD_SIGN_IN &&
      mail === sendsMail() &&
      secondFactor === SECOND_FACTOR
    )
  })

  const mails = Object.keys(sendsMail() ? mailKinds : {})

  return [
    ...available,
    ...mails.flatMap((kind) => [`mail: ${kind}`, `mail: ${kind}, text`]),
  ]
}

function mailIn(name: string, look: Look): string {
  const { color, language, radius } = look
  const [, kind, asText] = /^mail: ([\w-]+)(, text)?$/.exec(name)!
  const settings = { ...env() }
  if (color !== settings.ACCENT_COLOR)
    Object.assign(env(), { ACCENT_COLOR: color, ACCENT_COLOR_DARK: undefined })

  env().CORNER_RADIUS = radius

  const mail = {
    kind: kind as MailKindName,
    language,
    device: 'Firefox on Windows',
    requestedAt: new Date(),
  }

  const { subject, text, html } = compose(
    mail,
    `${settings.PUBLIC_URL}/reset-password?token=${'x'.repeat(43)}`,
    7,
  )

  Object.assign(env(), settings)

  return inLook(
    asText
      ? `${plainPage}<pre>${escapeHtml(`${subject}\n\n${text}`)}</pre>`
      : String(html),
    look,
  )
}

/**
 * Starts sessions of the previews' user on three devices, and returns the cookies of one
 * device.
 */
async function signInReader(by: 'password' | 'sso' | 'factor'): Promise<string> {
  const id = await readerId()
  await signOutUser(id)
  const enabledAt = by === 'factor' ? new Date() : null
  await prisma().$executeRaw`
    UPDATE users SET password_hash = ${by === 'sso' ? null : 'x'}, second_factor_at = ${enabledAt} WHERE id = ${id}`
  const tokens: string[] = []

  for (const device of ['Safari on iPhone', null, 'Firefox on Windows']) {
    const { secret } = await issueSsoCode(id)
    tokens.push((await exchangeSsoCode(secret, { ...unknownCaller, device })).token)
  }

  return `session=${tokens[0]}${enabledAt ? `; challenge=${makeChallenge((await findFactor(id))!).challenge}` : ''}`
}

async function openLink(link: LinkState): Promise<string> {
  const id = await readerId()
  const { secret } = await issueResetToken(id)
  if (link === 'used')
    await prisma()
      .$executeRaw`UPDATE reset_tokens SET used_at = now() WHERE user_id = ${id}`
  if (link === 'expired')
    await prisma()
      .$executeRaw`UPDATE reset_tokens SET expires_at = now() WHERE user_id = ${id}`

  return secret
}

async function readerId(): Promise<string> {
  await createUser(email)
  return (await findUserByEmail(email))!.id
}

/**
 * Returns the look from the query. A missing or invalid value is replaced by a default.
 */
function lookOf(searchParams: URLSearchParams) {
  const { APP_NAME, ACCENT_COLOR, CORNER_RADIUS } = env()
  const look = z.object({
    scheme: z.enum(schemes).catch('system'),
    language: z.enum(tags()).catch('en'),
    width: z.enum(widths).catch('390'),
    name: z.string().regex(plainName).catch(APP_NAME),
    color: z.string().regex(hexColor).catch(ACCENT_COLOR),
    radius: z.coerce.number().min(0).max(24).catch(CORNER_RADIUS),
  })

  return look.parse(Object.fromEntries(searchParams))
}

/**
 * Replaces the name of the app in a page and its scripts, and forces the color scheme.
 */
function inLook(html: string, { scheme, name }: Look): string {
  const initial = /(brand-mark\W+aria-hidden\W+true\W+(?:children\W+)?)./gu
  const places = /\(prefers-color-scheme:\s*(light|dark)\)|color-scheme:\s*light dark/g
  const marked = html.replace(initial, `$1${[...name][0]}`)

  const parts = marked.split(/(<script\b[\s\S]*?<\/script>)/).map((part, index) => {
    if (index % 2 === 1) return part.replaceAll(env().APP_NAME, name)

    const named = part.replaceAll(escapeHtml(env().APP_NAME), escapeHtml(name))
    if (scheme === 'system') return named

    const inScheme = (asked: string) =>
      asked === scheme ? '(min-width:0)' : '(max-width:0)'

    return named.replace(places, (_, asked?: string) =>
      asked ? inScheme(asked) : `color-scheme:${scheme}`,
    )
  })

  return parts.join('')
}

/** Returns the preview page: its links, and a frame for each state. */
function overview(names: string[], look: Look, search: string): string {
  const groups = [...new Set(names.map((name) => name.split(':')[0]!))]
  const idOf = (name: string) => pathOf(name).slice('/preview/'.length)

  const select = (key: 'scheme' | 'language' | 'width', values: readonly string[]) => {
    const options = values.map(
      (value) => `<option${value === look[key] ? ' selected' : ''}>${value}</option>`,
    )
    return `<label>${key} <select name="${key}">${options.join('')}</select></label>`
  }

  const frame = (name: string) => {
    const url = escapeHtml(pathOf(name) + search)
    return `<li id="${idOf(name)}"><a href="${url}">${name}</a>
<iframe src="${url}" title="${name}" width="${look.width}" height="760" loading="lazy"></iframe></li>`
  }

  const sections = groups.map((group) => {
    const frames = names.filter((name) => name.startsWith(`${group}:`)).map(frame)
    return `<section id="${idOf(group)}"><h2>${group}</h2><ul>${frames.join('\n')}</ul></section>`
  })

  const items = links.map(
    ([name, url, note]) => `<li><a href="${escapeHtml(url)}">${name}</a> ${note}</li>`,
  )

  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Development</title>
<style>${pageStyles}${accentCss(env().ACCENT_COLOR)}${styles}</style>
<h1>${escapeHtml(env().APP_NAME)} in development</h1>
<ul class="links">${items.join('\n')}</ul>
<nav><form onchange="this.submit()">${select('scheme', schemes)} ${select('language', tags())} ${select('width', widths)}
<label>name <input name="name" value="${escapeHtml(look.name)}"></label>
<label>color <input name="color" type="color" value="${look.color}"></label>
<label>radius <input name="radius" type="number" min="0" max="24" value="${look.radius}"></label></form>
${groups.map((group) => `<a href="#${idOf(group)}">${group}</a>`).join('\n')}</nav>
${sections.join('\n')}
</html>
`
}
