import { lifetimes } from '../../lib/contract/lifetimes'
import { getSession } from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { exchangePath, expect, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { send } from '../support/wire/raw-http'

// The headers and the HTML of the pages.

const pages = [
  ...[
    '/',
    '/nothing',
    '/api-docs',
    '/sign-in',
    '/sign-in?error=unknown',
    '/reset-password',
    '/reset-password?token=x',
  ],
  ...['/sso/callback', '/sso/callback?code=x', '/sso/callback?error=x'],
]

test('every page has a strict CSP, is never cached, and loads nothing from other sites', async ({
  url,
}) => {
  const nonces = new Set<string>()
  for (const path of pages) {
    const response = await fetch(url + path, {
      headers: {
        'X-Nonce': 'forged',
        'Content-Security-Policy': "script-src 'nonce-forged'",
      },
    })
    const header = (name: string) => response.headers.get(name)
    expect(response.status, path).toBe(
      path === '/nothing' || path === '/api-docs' ? 404 : 200,
    )
    const policy = header('content-security-policy')!
    expect(policy, path).toMatch(
      /^default-src 'none'; script-src 'self' 'nonce-[\w+/=]{24}' 'strict-dynamic'; style-src 'self' 'nonce-[\w+/=]{24}'; /,
    )
    const ancestors = ["frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"]
    for (const part of [...ancestors, "form-action 'self'", "connect-src 'self'"])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/unsafe|https?:|\*|forged/)
    expect(header('cache-control'), path).toBe('no-store, no-transform')
    expect(header('content-encoding'), path).toBe('gzip')
    // /sign-out checks the origin of the sign-out form, which is on the home page.
    expect(header('referrer-policy')).toBe(path === '/' ? 'same-origin' : 'no-referrer')
    expect(header('x-content-type-options')).toBe('nosniff')
    expect(header('cross-origin-opener-policy')).toBe('same-origin')
    expect(header('x-powered-by')).toBeNull()

    const html = await response.text()
    const [, nonce] = policy.match(/'nonce-(.*?)'/)!
    nonces.add(nonce!)
    const tags = html.match(/<(script|style)\b[^>]*>/g)!
    expect(tags.length).toBeGreaterThan(5)
    expect(tags.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([])
    expect(html.match(/(?:src|href|action)="(?:https?:)?\/\/[^"]*"/g), path).toBeNull()
    expect(html, path).not.toMatch(/ on\w+="|style="/)
    expect(html.split('@keyframes breathe').length - 1, path).toBe(1) // the styles occur only once
    expect(html, path).toContain('urlSecrets')
    expect(html, path).toContain(
      '<meta name="theme-color" content="#f4f3ef" media="(prefers-color-scheme: light)"/>',
    )
  }
  expect(nonces.size).toBe(pages.length)
})

test('files are cached, and files with a hash in their name are cached as immutable', async ({
  url,
}) => {
  const html = await (await fetch(url)).text()
  const script = html.match(/\/_next\/static\/[^"]*\.js/)![0]
  expect((await fetch(url + script)).headers.get('cache-control')).toContain('immutable')
  const files = await Promise.all(
    ['/icon.svg', '/favicon.ico', '/robots.txt'].map((file) => fetch(url + file)),
  )
  for (const { status, headers } of files)
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=3600'])
  const [icon, favicon] = files
  expect(favicon!.headers.get('content-type')).toBe('image/svg+xml')
  expect(await favicon!.text()).toBe(await icon!.text())
})

test('a page has the language of Accept-Language and its text direction', async ({
  url,
}) => {
  for (const [language, direction] of Object.entries({
    en: 'ltr',
    de: 'ltr',
    ar: 'rtl',
  })) {
    const html = await (
      await fetch(url, { headers: { 'Accept-Language': `${language};q=0.9` } })
    ).text()
    expect(html).toContain(`<html lang="${language}" dir="${direction}"`)
  }
})

test('without PASSWORD_SIGN_IN, the sign-in page asks for no password', async ({
  url,
}) => {
  const response = await fetch(`${url}/sign-in?step=password`)
  expect(response.status).toBe(200)
  expect(await response.text()).not.toContain('type="password"')
})

test('without email, the forgot-password page does not exist', async ({ url }) => {
  for (const path of ['/forgot-password', '/forgot-password/', '/forgot-password?sent']) {
    const response = await fetch(url + path)
    expect(response.status, path).toBe(404)
    expect(await response.text(), path).toMatch(/<h1[^>]*>Page not found<\/h1>/)
  }
})

test('only the callback page and the sign-in page set the browser cookie, and replace only an invalid one', async ({
  url,
}) => {
  const setBy = async (path: string, Cookie = '') =>
    (
      await fetch(url + path, { headers: Cookie ? { Cookie } : {} })
    ).headers.getSetCookie()
  const fresh = new RegExp(
    `^browser=([\\w-]{43}); Path=/; Max-Age=${lifetimes.browser}; HttpOnly; SameSite=Lax$`,
  )
  const own = keepSecret(newSecret())
  const values = new Set<string>()
  const invalid = ['', own.slice(1), `${own}x`, `"${own}"`, `${own.slice(1)}.`]
  for (const cookie of [
    '',
    `xbrowser=${own}`,
    ...invalid.map((value) => `browser=${value}`),
  ]) {
    const cookies = await setBy('/sso/callback', cookie)
    expect(cookies, `${cookie.length}`).toEqual([expect.stringMatching(fresh)])
    values.add(keepSecret(fresh.exec(cookies[0]!)![1]!))
  }
  expect(values.size).toBe(7)
  for (const path of [
    '/sso/callback/',
    '/sso/callback?code=x',
    '/sso/callback?error=x',
    '/sign-in',
  ]) {
    expect(await setBy(path), path).toEqual([expect.stringMatching(fresh)])
    expect(await setBy(path, `theme=dark; browser=${own}`), path).toEqual([])
  }
  for (const path of [
    '/',
    '/nothing',
    '/sso',
    '/sso/callback/more',
    '/reset-password?token=x',
    getSession.path,
  ])
    expect(await setBy(path), path).toEqual([])
})

test('scripts of another site can read the public documents', async ({ url }) => {
  for (const path of [
    '/.well-known/jwks.json',
    '/.well-known/openid-jwks.json',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
    '/openapi.json',
  ]) {
    const { status, headers } = await send(url + path, {
      headers: {
        'Sec-Fetch-Site': 'cross-site',
        'Sec-Fetch-Dest': 'empty',
        Origin: 'https://other.example',
      },
    })
    expect([status, headers['access-control-allow-origin']]).toEqual([200, '*'])
  }
})

test('requests from pages of another site do not count against the visitor’s rate limit', async ({
  url,
}) => {
  const address = newAddress()
  const remaining = async () =>
    (
      await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } })
    ).headers.get('ratelimit')
  expect(await remaining()).toContain(';r=1999;')
  for (const path of ['/', '/api/health', '/nothing'])
    for (const destination of ['empty', 'iframe', 'image', 'document']) {
      const { status } = await send(url + path, {
        headers: {
          'X-Forwarded-For': address,
          'Sec-Fetch-Site': 'cross-site',
          'Sec-Fetch-Dest': destination,
          ...(destination === 'document' && { 'Sec-Purpose': 'prefetch' }),
        },
      })
      expect(status).toBe(403)
    }
  expect(await remaining()).toContain(';r=1998;')
})

test('the callback posts its code before the styles, but not on the page of an error', async ({
  url,
}) => {
  const read = async (path: string) => {
    const response = await fetch(url + path, { headers: { 'X-Exchange': 'true' } })
    const html = await response.text()
    return [html.indexOf(`data-path="${exchangePath}"`), html.indexOf('<style')] as const
  }
  const [script, styles] = await read('/sso/callback?code=any')
  expect(script).toBeGreaterThan(0)
  expect(script).toBeLessThan(styles)
  for (const path of ['/sso/callback?code=any&error=other', '/', '/sign-in?code=any'])
    expect((await read(path))[0], path).toBe(-1)
})
