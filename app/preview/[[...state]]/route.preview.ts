// The preview: every page in every state, in any language, width and color scheme. Only development and tests compile
// this file (see next.config.mjs). It adds a script to a page of the app, which produces the state.
import PQueue from 'p-queue'
import { type LinkState, pathOf, type State, states } from '@/e2e/support/states'
import { prisma } from '@/lib/database/prisma'
import { escapeHtml } from '@/lib/page/escape-html'
import { languages } from '@/lib/page/language'
import { issueResetToken } from '@/lib/password/reset'
import { makeChallenge } from '@/lib/second-factor/challenge'
import { findFactor } from '@/lib/second-factor/find'
import { env, sendsMail } from '@/lib/settings/env'
import { exchangeSsoCode, issueSsoCode } from '@/lib/sso/exchange'
import { createUser, findUserByEmail, signOutUser } from '@/lib/user'
import frameScript from '../frame.inline.js?raw'

type Look = { scheme?: string; language: string; width: number }

const email = `reader-${process.pid}@preview.example` // the user of the reset links, for this process alone
const tags = () => languages().map(([tag]) => tag) // of the languages
const widths = [320, 390, 1280]
const opening = new PQueue({ concurrency: 1 }) // a new link invalidates the earlier one
const htmlHeaders = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }

export async function GET(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === '/preview/stay') return new Response(null, { status: 204 }) // keeps the browser on the page
  if (pathname.startsWith('/preview/late/'))
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve))
  const look = lookOf(searchParams)
  if (pathname === '/preview') return new Response(overview(availableStates(), look), { headers: htmlHeaders })
  const state = availableStates().find((each) => pathOf(each) === pathname)
  if (state) return opening.add(() => pageIn(states[state]!, look))
  return new Response(null, { status: 404, headers: { 'Content-Type': 'text/javascript' } }) // of a script that fails
}

async function pageIn({ path, link, signedIn, scripts, ...state }: State, { scheme, language }: Look) {
  const own = link ? `${path}?token=${await openLink(link)}` : path
  const response = await fetch(env().PUBLIC_URL + own, {
    headers: { Cookie: `language=${language}; ${signedIn ? await signInReader(signedIn) : ''}` },
  })
  const policy = response.headers.get('content-security-policy') ?? ''
  const [, nonce = ''] = policy.match(/'nonce-([^']+)'/) ?? []
  const data = escapeHtml(JSON.stringify({ ...state, path: own, scripts }))
  const script = `<script nonce="${nonce}" data-state="${data}">${frameScript}</script>`
  let html = (await response.text()).replace('<head>', () => `<head>${script}`)
  if (scripts) html = html.replaceAll('/_next/static/', `/preview/${scripts}/`)
  if (scheme) html = inScheme(html, scheme)
  const framed = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
  return new Response(html, { headers: { ...htmlHeaders, 'Content-Security-Policy': framed } })
}

/** Returns the names of the states that the app has with its settings. */
function availableStates(): string[] {
  const { PASSWORD_SIGN_IN, SECOND_FACTOR } = env()
  return Object.keys(states).filter((name) => {
    const { passwords = PASSWORD_SIGN_IN, mail = sendsMail(), secondFactor = SECOND_FACTOR } = states[name]!
    return passwords === PASSWORD_SIGN_IN && mail === sendsMail() && secondFactor === SECOND_FACTOR
  })
}

/** Returns the cookies of the reader, who is signed in elsewhere too. */
async function signInReader(by: 'password' | 'sso' | 'factor'): Promise<string> {
  const id = await readerId()
  await signOutUser(id)
  const enabledAt = by === 'factor' ? new Date() : null
  await prisma().$executeRaw`
    UPDATE users SET password_hash = ${by === 'sso' ? null : 'x'}, second_factor_at = ${enabledAt} WHERE id = ${id}`
  const tokens: string[] = []
  for (const device of ['Safari on iPhone', null, 'Firefox on Windows']) {
    const { secret } = await issueSsoCode(id)
    tokens.push((await exchangeSsoCode(secret, { browser: null, sessionIds: [], device })).token)
  }
  return `session=${tokens[0]}${enabledAt ? `; challenge=${makeChallenge((await findFactor(id))!).challenge}` : ''}`
}

async function openLink(link: LinkState): Promise<string> {
  const id = await readerId()
  const { secret } = await issueResetToken(id)
  if (link === 'used') await prisma().$executeRaw`UPDATE reset_tokens SET used_at = now() WHERE user_id = ${id}`
  if (link === 'expired') await prisma().$executeRaw`UPDATE reset_tokens SET expires_at = now() WHERE user_id = ${id}`
  return secret
}

async function readerId(): Promise<string> {
  await createUser(email)
  return (await findUserByEmail(email))!.id
}

function lookOf(searchParams: URLSearchParams): Look {
  return {
    scheme: ['light', 'dark'].find((scheme) => scheme === searchParams.get('scheme')),
    language: tags().find((language) => language === searchParams.get('language')) ?? 'en',
    width: widths.find((width) => width === Number(searchParams.get('width'))) ?? 390,
  }
}

/** Forces a color scheme on a page. Does not change scripts, because they contain texts with their lengths. */
function inScheme(html: string, scheme: string): string {
  const places = /(<script\b[\s\S]*?<\/script>)|\(prefers-color-scheme:\s*(light|dark)\)|color-scheme:\s*light dark/g
  return html.replace(places, (_, script?: string, asked?: string) => {
    if (script) return script
    if (asked) return asked === scheme ? '(min-width:0)' : '(max-width:0)'
    return `color-scheme:${scheme}`
  })
}

function overview(names: string[], look: Look): string {
  const address = (path: string, change: Partial<Look>) => {
    const { scheme, language, width } = { ...look, ...change }
    return `${path}?${new URLSearchParams({ ...(scheme && { scheme }), language, width: String(width) })}`
  }
  const choices = <Key extends keyof Look>(key: Key, values: Look[Key][]) =>
    values
      .map((value) => {
        const current = look[key] === value ? ' aria-current="true"' : ''
        return `<a href="${escapeHtml(address('/preview', { [key]: value }))}"${current}>${value ?? 'system'}</a>`
      })
      .join(' ')
  const frames = names.map((name) => {
    const url = escapeHtml(address(pathOf(name), {}))
    return `<li><a href="${url}">${escapeHtml(name)}</a>
<iframe src="${url}" title="${escapeHtml(name)}" width="${look.width}" height="760" loading="lazy"></iframe></li>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Every page in every state</title>
<style>
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0}nav{position:sticky;top:0;padding:.5rem 1rem;background:Canvas;border-bottom:1px solid GrayText}
nav a{padding:.25rem .5rem}[aria-current]{font-weight:bold}nav span{margin-inline-end:1.5rem;white-space:nowrap}
ul{display:flex;flex-wrap:wrap;gap:1.5rem;list-style:none;padding:1rem;margin:0}
li a{display:block;margin-block-end:.25rem}iframe{border:1px solid GrayText;border-radius:.5rem}
</style>
<nav><span>Scheme: ${choices('scheme', [undefined, 'light', 'dark'])}</span> <span>Language: ${choices('language', tags())}</span> <span>Width: ${choices('width', widths)}</span></nav>
<ul>
${frames.join('\n')}
</ul>
</html>
`
}
