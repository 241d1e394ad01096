// The preview of `npm run dev`: every page in every state, in any language, width and colour scheme.
// It passes requests on to the app, and adds a script to the page, which brings about the state.

import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import PQueue from 'p-queue'
import { prisma } from '../lib/database/prisma'
import { escapeHtml } from '../lib/page/escape-html'
import { issueResetToken } from '../lib/password/reset'
import { createUser, findUserByEmail } from '../lib/user'
import { type LinkState, type State, states } from './preview/states'

export type Preview = { url: string; stop: () => void }

type Look = { scheme?: string; language: string; width: number }

const frameScript = readFileSync(new URL('preview/frame.js', import.meta.url), 'utf8')
const languages = readdirSync(new URL('../lib/page/texts', import.meta.url)).map((name) => name.slice(0, 2))
const widths = [320, 390, 1280]

/** Which states an app has: whether users sign in with passwords, and whether it sends e-mail. */
type Features = { passwords: boolean; mail: boolean }

/**
 * Starts the preview of an app on a free port of this machine. Links for resetting a password belong
 * to `email`, which becomes a user.
 */
export async function startPreview(app: Features & { url: string; email: string }): Promise<Preview> {
  const origin = new URL(app.url)
  const toApp = { host: origin.hostname, port: origin.port }
  const opening = new PQueue({ concurrency: 1 }) // a new link ends the one before

  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://preview')
    if (!/^\/preview(\/|$)/.test(url.pathname)) return passOn(request, response)
    const state = namesOf(app).find((each) => pathOf(each) === url.pathname)
    const look = lookOf(url)
    const page = state ? opening.add(() => pageIn(states[state]!, look)) : Promise.resolve(overview(namesOf(app), look))
    page.then(
      ({ headers, html }) => response.writeHead(200, headers).end(html),
      (error: Error) => response.writeHead(502, { 'Content-Type': 'text/plain' }).end(error.message),
    )
  })

  async function pageIn({ path, link, scripts, ...state }: State, { scheme, language }: Look) {
    const own = link ? `${path}?token=${await openLink(app.email, link)}` : path
    const response = await fetch(app.url + own, { headers: { Cookie: `language=${language}` } })
    const policy = response.headers.get('content-security-policy') ?? ''
    const [, nonce = ''] = policy.match(/'nonce-([^']+)'/) ?? []
    const data = escapeHtml(JSON.stringify({ ...state, path: own, scripts }))
    const script = `<script nonce="${nonce}" data-state="${data}">${frameScript}</script>`
    let html = (await response.text()).replace('<head>', () => `<head>${script}`)
    if (scripts) html = html.replaceAll('/_next/static/', `/preview-${scripts}/`)
    if (scheme) html = inScheme(html, scheme)
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
      'Cache-Control': 'no-store',
    }
    return { headers, html }
  }

  function passOn(request: IncomingMessage, response: ServerResponse): void {
    const { url = '/', method } = request
    if (url === '/dashboard') return void response.writeHead(204).end() // keeps the browser on the page
    if (url.startsWith('/preview-failed/')) return void response.destroy()
    if (url.startsWith('/preview-late/')) return // never responds
    const passed = httpRequest({ ...toApp, method, path: url, headers: headersFor(request) }, (received) => {
      delete received.headers['set-cookie'] // cookies do not tell ports apart
      response.writeHead(received.statusCode!, received.headers)
      received.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  }

  function headersFor({ headers }: IncomingMessage) {
    const { cookie: _, ...others } = headers
    return { ...others, host: origin.host, ...(headers.origin && { origin: origin.origin }) }
  }

  // of hot reload
  server.on('upgrade', (request, socket: Socket, head) => {
    const passed = connect({ ...toApp, port: Number(toApp.port) }, () => {
      const lines = Object.entries(headersFor(request)).map(([name, value]) => `${name}: ${value}\r\n`)
      passed.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('')}\r\n`)
      passed.write(head)
      passed.pipe(socket).pipe(passed)
    })
    passed.on('error', () => socket.destroy())
    socket.on('error', () => passed.destroy())
  })

  server.listen(0, 'localhost')
  await once(server, 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Returns the path at which the preview shows a state. */
export function pathOf(name: string): string {
  return `/preview/${name.replace(/\W+/g, '-')}`
}

/** Returns the names of the states that an app has. */
function namesOf(app: Features): string[] {
  return Object.keys(states).filter((name) => {
    const { passwords = app.passwords, mail = app.mail } = states[name]!
    return passwords === app.passwords && mail === app.mail
  })
}

async function openLink(email: string, link: LinkState): Promise<string> {
  if (!(await findUserByEmail(email))) await createUser(email)
  const { id } = (await findUserByEmail(email))!
  const { secret } = await issueResetToken(id)
  if (link === 'used') await prisma().$executeRaw`UPDATE reset_tokens SET used_at = now() WHERE user_id = ${id}`
  if (link === 'expired') await prisma().$executeRaw`UPDATE reset_tokens SET expires_at = now() WHERE user_id = ${id}`
  return secret
}

function lookOf({ searchParams }: URL): Look {
  return {
    scheme: ['light', 'dark'].find((scheme) => scheme === searchParams.get('scheme')),
    language: languages.find((language) => language === searchParams.get('language')) ?? 'en',
    width: widths.find((width) => width === Number(searchParams.get('width'))) ?? 390,
  }
}

/** Makes a page take a colour scheme. Leaves its scripts: they hold texts with their lengths. */
function inScheme(html: string, scheme: string): string {
  const places = /(<script\b[\s\S]*?<\/script>)|\(prefers-color-scheme:\s*(light|dark)\)|color-scheme:\s*light dark/g
  return html.replace(places, (_, script?: string, asked?: string) => {
    if (script) return script
    if (asked) return asked === scheme ? '(min-width:0)' : '(max-width:0)'
    return `color-scheme:${scheme}`
  })
}

function overview(names: string[], look: Look) {
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
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }
  const html = `<!doctype html>
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
<nav><span>Scheme: ${choices('scheme', [undefined, 'light', 'dark'])}</span> <span>Language: ${choices('language', languages)}</span> <span>Width: ${choices('width', widths)}</span></nav>
<ul>
${frames.join('\n')}
</ul>
</html>
`
  return { headers, html }
}
