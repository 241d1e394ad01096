import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright/test'
import { project } from '../../bin/local'
import { pathOf } from '../../bin/preview'
import {
  exchangePath,
  expect,
  heading,
  keepSecret,
  newAddress,
  newCode,
  newToken,
  resetPath,
  test,
} from '../support/fixtures'
import { openOwnDatabase } from '../support/own-database'
import { axe, complaintsOf } from '../support/page-checks'
import { previewUrl, respondWith, show, stateNames } from '../support/page-states'
import { send } from '../support/raw-http'
import { startServer } from '../support/server'

const pages = [
  '/',
  '/nothing',
  '/api-docs',
  '/sso/callback',
  '/sso/callback?code=x',
  '/sso/callback?error=x',
  '/reset-password',
  '/reset-password?token=x',
  '/sign-in',
  '/sign-in?error=unknown',
]

for (const name of stateNames) {
  test(`${name}: no axe violations in both color schemes, and no overflow at 320 pixels or 200% text`, async ({
    page,
  }) => {
    const complaints = complaintsOf(page.context())
    await page.emulateMedia({ reducedMotion: 'reduce' }) // no colour between two
    await show(page, name)
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { violations } = await axe(page).analyze()
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
    }
    await page.setViewportSize({ width: 320, height: 640 })
    for (const [size, direction] of [
      ['100%', 'ltr'],
      ['200%', 'ltr'],
      ['100%', 'rtl'],
    ] as const) {
      await page.evaluate(
        ([fontSize, dir]) => Object.assign(document.documentElement, { dir }).style.setProperty('font-size', fontSize),
        [size, direction] as const,
      )
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth),
        `${size} ${direction}`,
      ).toBeLessThanOrEqual(320)
    }
    const targets = await page
      .locator('a.button, button')
      .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().height))
    expect(targets.filter((height) => height > 0 && height < 44)).toEqual([])
    expect(complaints).toEqual([])
  })
}

for (const language of ['de', 'fr', 'es', 'ar']) {
  test(`in ${language}: no axe violations, and no overflow at 320 pixels`, async ({ page }) => {
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.setViewportSize({ width: 320, height: 640 })
    for (const name of ['reset: form', 'reset: too many requests', 'sso: failed', 'sign in: form']) {
      await show(page, name, language)
      const { violations } = await axe(page).analyze()
      const found = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
      expect(found, name).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(320)
    }
  })
}

test('in every language, buttons have one width and one line, on a phone and on a desktop', async ({ page }) => {
  for (const language of ['en', 'de', 'fr', 'es', 'ar']) {
    await show(page, 'sso: used or expired', language)
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      const boxes = await page
        .locator('.actions .button')
        .filter({ visible: true })
        .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect()))
      expect(boxes.length, language).toBe(2)
      expect(new Set(boxes.map((box) => `${box.x} ${box.width}`)).size, language).toBe(1)
      expect(Math.max(...boxes.map((box) => box.height)), language).toBeLessThan(60)
    }
  }
})

test('a screen that replaces another fades in, and its tick is drawn, unless the user prefers less motion', async ({
  page,
}) => {
  await page.addInitScript(() => {
    const names: string[] = []
    Object.assign(window, { animated: names })
    addEventListener('animationstart', ({ animationName }) => names.push(animationName), true)
  })
  for (const [reducedMotion, expected] of [
    ['no-preference', ['arrive', 'draw']],
    ['reduce', []],
  ] as const) {
    await page.emulateMedia({ reducedMotion })
    await show(page, 'reset: accepted')
    await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)))
    const animated = await page.evaluate(() => (window as unknown as { animated: string[] }).animated)
    expect(animated.filter((name) => name !== 'turn' && name !== 'breathe').sort()).toEqual(expected)
  }
})

test('a busy button does not turn, and no button changes gradually, if the user prefers less motion', async ({
  page,
}) => {
  for (const [reducedMotion, spinner, duration] of [
    ['no-preference', 'turn', '0.12s'],
    ['reduce', 'breathe', '0s'],
  ] as const) {
    await page.emulateMedia({ reducedMotion })
    await show(page, 'reset: sending')
    const button = page.locator('.button[data-busy]')
    const found = await button.evaluate((element) => [
      getComputedStyle(element, '::before').animationName,
      getComputedStyle(element).transitionDuration.split(', ')[0],
    ])
    expect(found).toEqual([spinner, duration])
  }
})

test('the support reference is copied with one press, or selected where the browser does not allow that', async ({
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  for (const name of ['reset: failed', 'sso: failed', 'reset: too many requests']) {
    await show(page, name)
    const reference = await page.locator('.reference code').innerText()
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toBeAttached()
    await expect(page.getByRole('button', { name: 'Copy' })).toHaveAccessibleDescription('Support reference:')
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(reference)
    await page.evaluate(() => navigator.clipboard.writeText(''))
  }
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined })) // as on plain http
  await show(page, 'reset: failed')
  const reference = await page.locator('.reference code').innerText()
  const button = page.getByRole('button', { name: 'Copy', exact: true })
  await button.click()
  await expect.poll(() => page.evaluate(() => String(getSelection()))).toBe(reference)
  await expect(page.getByText('Copied')).toHaveCount(0)
})

test('with large text on a phone, “Show” is below the password, which keeps its width', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 })
  await show(page, 'reset: form')
  const input = page.locator('#password')
  const button = page.getByRole('button', { name: 'Show password' })
  const isBeside = async () =>
    (await button.boundingBox())!.x >= (await input.boundingBox())!.x + (await input.boundingBox())!.width
  expect(await isBeside()).toBe(true)
  await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%'
  })
  expect(await isBeside()).toBe(false)
  expect((await input.boundingBox())!.width).toBeGreaterThan(0.95 * (await page.locator('form').boundingBox())!.width)
})

test('the preview shows a state in a language and a scheme, and all states at once', async ({ page }) => {
  const url = await previewUrl()
  const complaints = complaintsOf(page.context())
  for (const [scheme, ofBrowser] of [
    ['light', 'dark'],
    ['dark', 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme: ofBrowser })
    await page.goto(`${url}${pathOf('sso: used or expired')}?language=ar&scheme=${scheme}`)
    await page.locator('html[dir=rtl][data-shown]').waitFor({ state: 'attached' })
    await expect(heading(page)).toHaveText('انتهت صلاحية عملية تسجيل الدخول هذه')
    const channels = await page.evaluate(() =>
      getComputedStyle(document.body)
        .backgroundColor.match(/[\d.]+/g)!
        .map(Number),
    )
    expect(channels[0]! > 128, `${channels}`).toBe(scheme === 'light')
  }
  await page.goto(`${url}/preview?language=de&width=320`)
  const first = page.frameLocator('iframe[title="start page, signed out"]')
  await expect(first.getByRole('heading', { level: 1 })).toHaveText('Sie sind nicht angemeldet')
  expect(await page.locator('iframe[width="320"]').count()).toBeGreaterThan(40)
  expect(complaints).toEqual([])
})

test('the home page of a signed-in user: no axe violations', async ({ page, user }) => {
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect((await axe(page).analyze()).violations).toEqual([])
  }
})

test('the end of a session is shown in the time zone of the browser, by the server in UTC', async ({
  browserProcess,
  user,
  sql,
  url,
}) => {
  const extraHTTPHeaders = { 'X-Forwarded-For': newAddress() }
  const context = await browserProcess.newContext({ baseURL: url, timezoneId: 'Asia/Kolkata', extraHTTPHeaders })
  const page = await context.newPage()
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  const [{ end } = { end: null }] = await sql('SELECT expires_at AS end FROM sessions WHERE user_id = $1', [user.id])
  const until = page.locator('time')
  await expect(until).toHaveAttribute('datetime', end.toISOString())
  await expect(until).toContainText('GMT+5:30')
  const time = { hour: 'numeric', minute: '2-digit' } as const
  await expect(until).toContainText(end.toLocaleTimeString('en', { ...time, timeZone: 'Asia/Kolkata' }).slice(0, -3))
  const html = await (await page.reload())!.text()
  expect(html).toMatch(/<time dateTime="[^"]+">[^<]+ UTC<\/time>/i)
  const day = end.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  const session = (await context.cookies()).find(({ name }) => name === 'session')!
  const headers = { 'Accept-Language': 'de-CH, en-GB;q=0.5', Cookie: `session=${session.value}; language=en` }
  expect(await (await fetch(url, { headers })).text()).toContain(`>${day} at `)
  await expect(until).toContainText('GMT+5:30')
  await context.close()
})

test('every page has a strict policy and is never cached', async ({ url }) => {
  for (const path of pages) {
    const { headers, status } = await fetch(url + path, {
      headers: { 'X-Nonce': 'forged', 'Content-Security-Policy': "script-src 'nonce-forged'" },
    })
    expect(status, path).toBe(path === '/nothing' || path === '/api-docs' ? 404 : 200)
    expect(headers.get('content-security-policy'), path).toMatch(
      /^default-src 'none'; script-src 'self' 'nonce-[\w+/=]{24}' 'strict-dynamic'; style-src 'self' 'nonce-[\w+/=]{24}'; /,
    )
    for (const part of [
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
      "connect-src 'self'",
      "object-src 'none'",
    ])
      expect(headers.get('content-security-policy')).toContain(part)
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe|https?:|\*|forged/)
    expect(headers.get('cache-control'), path).toContain('no-store')
    // The home page tells its own site where its sign-out form was sent from, and no other site
    // anything.
    expect(headers.get('referrer-policy')).toBe(path === '/' ? 'same-origin' : 'no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('x-powered-by')).toBeNull()
    if (!path.startsWith('/sso/callback')) expect(headers.get('set-cookie'), path).toBeNull() // see sessions.spec.ts
  }
})

test('every script and style of every page has the nonce of its response, a new one each time, and nothing is loaded from other sites', async ({
  url,
}) => {
  const nonces = new Set<string>()
  for (const path of pages) {
    const got = await fetch(url + path)
    const html = await got.text()
    const [, nonce] = got.headers.get('content-security-policy')!.match(/'nonce-(.*?)'/)!
    nonces.add(nonce!)
    const tags = html.match(/<(script|style)\b[^>]*>/g)!
    expect(tags.length).toBeGreaterThan(5)
    expect(
      tags.filter((tag) => !tag.includes(`nonce="${nonce}"`)),
      path,
    ).toEqual([])
    expect(html.match(/(?:src|href|action)="(?:https?:)?\/\/[^"]*"/g), path).toBeNull()
    expect(html, path).not.toMatch(/ on\w+="|style="/)
  }
  expect(nonces.size).toBe(pages.length)
})

test('files are cached, and hashed ones as immutable', async ({ url }) => {
  const html = await (await fetch(url)).text()
  const script = html.match(/\/_next\/static\/[^"]*\.js/)![0]
  expect((await fetch(url + script)).headers.get('cache-control')).toContain('immutable')
  for (const file of ['/icon.svg', '/favicon.ico', '/robots.txt']) {
    const got = await fetch(url + file)
    expect([got.status, got.headers.get('cache-control')], file).toEqual([200, 'public, max-age=3600'])
  }
  const [icon, favicon] = await Promise.all(['/icon.svg', '/favicon.ico'].map((file) => fetch(url + file)))
  expect(favicon!.headers.get('content-type')).toBe('image/svg+xml')
  expect(await favicon!.text()).toBe(await icon!.text())
})

test('the language is the best that the browser asks for', async ({ url }) => {
  const languages = {
    '': 'en',
    de: 'de',
    'de-CH': 'de',
    'DE-at,en;q=0.5': 'de',
    'en-GB,de;q=0.9': 'en',
    'fr-CA,de;q=0.5,en;q=0.4': 'fr',
    es: 'es',
    'ar-EG': 'ar',
    'nl,de;q=0.5,en;q=0.4': 'de',
    nl: 'en',
    'de;q=0,en': 'en',
    'en;q=0.1, de;q=0.2': 'de',
    '*': 'en',
    'constructor,__proto__': 'en',
    ';;,=': 'en',
  } // one file a language: lib/texts
  for (const [asked, language] of Object.entries(languages)) {
    const html = await (await fetch(url, { headers: { 'Accept-Language': asked } })).text()
    expect(html, asked).toContain(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}"`)
  }
})

test('without mail, the forgot-password page does not exist, which the page says without scripts too', async ({
  url,
}) => {
  for (const path of ['/forgot-password', '/forgot-password/', '/forgot-password?sent']) {
    const response = await fetch(url + path)
    expect(response.status, path).toBe(404)
    expect(await response.text(), path).toMatch(/<h1[^>]*>Page not found<\/h1>/)
  }
})

test('the language that a user chooses in the footer stays, and a reset link survives the change', async ({
  page,
  user,
}) => {
  const html = page.locator('html')
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await expect(html).toHaveAttribute('lang', 'en')
  await expect(page.getByRole('button', { name: 'English' })).toHaveAttribute('aria-pressed', 'true')
  await page.getByRole('button', { name: 'العربية' }).click()
  await expect(html).toHaveAttribute('lang', 'ar')
  await expect(html).toHaveAttribute('dir', 'rtl')
  await expect(page.getByText(user.email)).toBeVisible()
  await page.getByRole('button', { name: 'Deutsch' }).click()
  await expect(html).toHaveAttribute('lang', 'de')
  await expect(page.getByRole('button', { name: 'Deutsch' })).toHaveAttribute('aria-pressed', 'true')
  await page.goto('/sign-in')
  await expect(html).toHaveAttribute('lang', 'de')
  await page.context().addCookies([{ name: 'language', value: 'xx', url: page.url() }])
  await page.goto('/')
  await expect(html).toHaveAttribute('lang', 'en')
})

test('in German, errors and waits included', async ({ browserProcess, url, user }) => {
  const resetLink = `/reset-password?token=${await newToken(user)}`
  const context = await browserProcess.newContext({
    baseURL: url,
    locale: 'de-DE',
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  const page = await context.newPage()
  await page.route(
    '**/api/auth/reset-password',
    respondWith(400, {
      code: 'VALIDATION_ERROR',
      issues: [{ path: ['password'], code: 'too_short', message: 'English' }],
    }),
  )
  await page.goto(resetLink)
  await page.getByLabel('Neues Passwort').fill('kurz')
  await page.getByRole('button', { name: 'Passwort speichern' }).click()
  await expect(page.getByRole('link', { name: 'Das Passwort muss mindestens 8 Zeichen lang sein.' })).toBeVisible()
  await expect(page).toHaveTitle(/^Fehler: Neues Passwort wählen – /)
  await page.route(exchangePath, respondWith(429, { code: 'RATE_LIMITED' }, 700))
  await page.goto('/sso/callback?code=x')
  await expect(page.getByText('Sie können sich in 12 Minuten erneut anmelden.')).toBeVisible()
  await context.close()
})

test('without JavaScript, a page says what to do, and offers no form that could not work', async ({
  browserProcess,
  url,
  user,
}) => {
  const resetLink = `/reset-password?token=${await newToken(user)}`
  const context = await browserProcess.newContext({ baseURL: url, javaScriptEnabled: false })
  const page = await context.newPage()
  for (const [path, tab, wayOn] of [
    ['/sso/callback?code=x', /^Sign in – /, 'then sign in again'],
    [resetLink, /^Choose a new password – /, 'then open the link from your email again'],
  ] as const) {
    await page.goto(path)
    await expect(page.locator('noscript h1')).toHaveText('Turn on JavaScript to continue')
    await expect(page.locator('noscript h1')).toBeVisible()
    await expect(page.locator('noscript p')).toContainText(wayOn)
    await expect(page.locator('noscript a')).toHaveText(path.startsWith('/sso') ? ['Sign in again'] : [])
    await expect(page.locator('.needs-script')).toBeHidden()
    await expect(page.locator('.not-loaded')).toBeHidden()
    await expect(page).toHaveTitle(tab)
  }
  await page.goto('/reset-password') // scripts would not help
  await expect(page.locator('noscript h1')).toHaveText('Open the link from your email')
  await expect(page.locator('noscript h1')).toBeVisible()
  await page.goto('/sso/callback?error=access_denied')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('You weren’t signed in')
  await context.close()
})

test('no layout shift, neither on loading nor when the outcome comes', async ({ page, user }) => {
  const resetLink = `/reset-password?token=${await newToken(user)}`
  await page.addInitScript(() => {
    const seen = Object.assign(window, { shift: 0 })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.shift += (entry as PerformanceEntry & { value: number }).value
    }).observe({ type: 'layout-shift', buffered: true })
  })
  for (const path of [resetLink, '/sso/callback', '/']) {
    await page.goto(path, { waitUntil: 'networkidle' })
    expect(await page.evaluate(() => (window as unknown as { shift: number }).shift), path).toBe(0)
  }
  for (const [name, path] of [
    ['exchange', '/sso/callback?code=x'],
    ['reset', resetLink],
  ] as const) {
    let respond = () => {}
    const asked = new Promise<void>((resolve) => (respond = resolve))
    await page.route({ exchange: exchangePath, reset: resetPath }[name], async (route) => {
      await asked
      await respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1)(route)
    })
    await page.goto(path)
    await page.locator('html[data-ready]').waitFor()
    if (name === 'reset') {
      await page.getByLabel('New password').fill('lantern otter meadow')
      await page.getByRole('button', { name: 'Save password' }).click()
    }
    await page.waitForTimeout(700) // what comes within half a second of a click does not count
    const shift = () => page.evaluate(() => (window as unknown as { shift: number }).shift)
    const before = await topsOfForm(page)
    expect(await shift(), name).toBe(0)
    respond()
    await page.getByText('You can try again now').waitFor()
    if (name === 'exchange') {
      // a title of two lines moves the paragraph under it
      expect(await shift()).toBeLessThan(0.01)
    } else {
      // The form moves by the height of the banner above it, and nothing moves in the form.
      const pushed = await page.locator('.banner').evaluate((banner) => {
        return banner.getBoundingClientRect().height + Number.parseFloat(getComputedStyle(banner).marginBlockEnd)
      })
      const after = await topsOfForm(page)
      expect(before).toHaveLength(5)
      expect(after.map((top, index) => Math.round(top - before[index]!))).toEqual(before.map(() => Math.round(pushed)))
    }
  }
})

function topsOfForm(page: Page): Promise<number[]> {
  return page
    .locator('h1, label, #password, .strength, [type=submit]')
    .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().top + scrollY))
}

test('forced colours leave everything there', async ({ page, user }) => {
  const resetLink = `/reset-password?token=${await newToken(user)}`
  await page.emulateMedia({ forcedColors: 'active' })
  await page.goto(resetLink)
  const system = await page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement('i'))
    const colors = ['CanvasText', 'Canvas', 'ButtonText'].map((color) => {
      probe.style.color = color
      return getComputedStyle(probe).color
    })
    probe.remove()
    return colors
  })
  const [text, ground] = system
  expect(text).not.toBe(ground)
  const field = page.getByLabel('New password')
  await field.pressSequentially('lantern otter meadow')
  await expect(page.getByText('Very strong')).toBeVisible()
  await expect(page.locator('.strength-bar span').first()).toHaveCSS('background-color', text!)
  await expect(page.locator('.strength-bar span').first()).toHaveCSS('border-top-color', text!)
  await expect(page.locator('.brand-mark')).toHaveCSS('border-top-color', text!)
  await expect(page.locator('.brand-mark')).toHaveCSS('border-top-width', '1px')
  const button = page.getByRole('button', { name: 'Save password' })
  expect(await button.evaluate((element) => getComputedStyle(element).borderTopColor)).not.toBe(ground)
  await expect(button).toHaveCSS('border-top-width', '3px') // more than a secondary one: see below
  await expect(page.locator('.input')).toHaveCSS('border-top-width', '1px')
  await field.fill('short')
  await button.click()
  await expect(page.locator('.input')).toHaveCSS('border-top-width', '3px') // its shadow is dropped
  await page.goto('/sso/callback')
  await expect(page.locator('.icon.lock')).toHaveCSS('border-top-color', text!)
  await expect(page.locator('.icon.lock')).toHaveCSS('border-top-width', '1px')
  await expect(page.getByRole('link', { name: 'Sign in again' })).toHaveCSS('border-top-width', '3px')
  await expect(page.getByRole('link', { name: 'Continue' })).toHaveCSS('border-top-width', '1px')
})

test('the links to other sites that the settings name', async ({ page, user }) => {
  const settings = {
    SIGN_IN_URL: 'https://www.example.com/sign-in',
    FORGOT_PASSWORD_URL: 'https://www.example.com/forgot-password',
    DASHBOARD_URL: 'https://www.example.com/dashboard?from="sign-in"&x=</script>',
    APP_NAME: 'Northwind',
  }
  const server = await startServer(settings)
  try {
    await page.route('https://www.example.com/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>Elsewhere</title>' }),
    )
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    await page.goto(server.url)
    await expect(link('Sign in')).toHaveAttribute('href', settings.SIGN_IN_URL)
    await expect(link('Forgot your password?')).toHaveAttribute('href', settings.FORGOT_PASSWORD_URL)

    await page.goto(`${server.url}/sso/callback?code=${await newCode(user)}`)
    await page.waitForURL('https://www.example.com/dashboard**')
    expect(page.url()).toBe(new URL(settings.DASHBOARD_URL).href)
    await page.goto(server.url)
    await expect(link('Open Northwind')).toHaveAttribute('href', settings.DASHBOARD_URL)
    await expect(page.getByText('Signed in until')).toBeVisible()

    await page.context().clearCookies() // with a session, the page would go on
    await page.goto(`${server.url}/sso/callback`)
    await expect(link('Sign in again')).toHaveAttribute('href', settings.SIGN_IN_URL)
    await expect(link('Continue')).toHaveAttribute('href', settings.DASHBOARD_URL)

    const token = await newToken(user)
    for (const [status, body, links] of [
      [
        400,
        { code: 'VALIDATION_ERROR', issues: [{ path: ['token'], code: 'invalid_or_expired', message: '' }] },
        ['Get a new link', 'Sign in'],
      ],
      // The link in the e-mail may still be good: a new one would end that.
      [500, { code: 'INTERNAL_ERROR' }, ['Sign in']],
      [503, { code: 'SERVICE_UNAVAILABLE' }, ['Sign in']], // until the wait is over
      [503, { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' }, ['Sign in', 'Get a new link']],
      [200, { ok: true }, ['Sign in']],
    ] as const) {
      await page.route(`**${resetPath}`, respondWith(status, body), { times: 1 })
      await page.goto(`${server.url}/reset-password?token=${token}`)
      await page.getByLabel('New password').fill('lantern otter meadow')
      await page.getByRole('button', { name: 'Save password' }).click()
      await expect(page.locator(status === 503 && !('outcome' in body) ? '.banner:focus' : 'h1:focus')).toBeVisible()
      await expect(page.getByRole('link')).toHaveText([...links])
    }
    await page.goto(`${server.url}/reset-password`)
    await expect(link('Get a new link')).toHaveAttribute('href', settings.FORGOT_PASSWORD_URL)
  } finally {
    await server.stop()
  }
})

test('a page that can’t be rendered: 500, in our words, and “Try again” does', async ({ page }) => {
  const database = await openOwnDatabase()
  const server = await startServer({ DATABASE_URL: database.url() })
  try {
    const code = keepSecret(randomBytes(32).toString('base64url'))
    await database.sql(
      `WITH new_user AS (INSERT INTO users (email) VALUES ('ada@example.com') RETURNING id)
       INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256($1), id, now() + interval '1 minute' FROM new_user`,
      [Buffer.from(code)],
    )
    await page.goto(`${server.url}/sso/callback?code=${code}`)
    await page.waitForURL(`${server.url}/`)
    await database.sql('ALTER TABLE sessions RENAME TO gone; ALTER TABLE connections RENAME TO gone_too')
    expect((await page.reload())!.status()).toBe(500)
    await expect(heading(page)).toHaveText('Something went wrong')
    await expect(page.locator('.reference code')).not.toBeEmpty()
    await expect(page.locator('.card'), 'styled').toHaveCSS('max-inline-size', '448px')
    expect((await axe(page).analyze()).violations).toEqual([])
    await database.sql('ALTER TABLE gone RENAME TO sessions')
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect(heading(page)).toHaveText('You’re signed in')
  } finally {
    await server.stop()
    await database.drop()
  }
})

// Nothing that a test could do from outside makes the layout fail, so it is rendered here.
test('what is left when not even the layout can be rendered: in every language, in both schemes, with a way on', async ({
  page,
}) => {
  const program = `
    import { renderToStaticMarkup } from 'react-dom/server'
    import GlobalError from './app/global-error'
    console.log(renderToStaticMarkup(GlobalError({ error: Object.assign(new Error('secret'), { digest: '4711' }) })))`
  const html = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    cwd: project,
    encoding: 'utf8',
  })
  expect(html).not.toContain('secret')
  await page.goto('/robots.txt')
  await page.setContent(`<!doctype html>${html}`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect((await axe(page).analyze()).violations).toEqual([])
  }
  await expect(page.getByText('4711')).toBeVisible()
  for (const name of [
    'Load this page again',
    'Diese Seite neu laden',
    'Recharger cette page',
    'Volver a cargar esta página',
    'إعادة تحميل الصفحة',
  ])
    await expect(page.getByRole('link', { name })).toHaveAttribute('href', '')
})

// What a page loads beyond the one for addresses that do not exist, which is Next.js, React and the
// frame of our pages.
test('each page has a small script of its own', async ({ page, user }) => {
  const frame = await scriptsOf(page, '/nothing')
  const own: Record<string, number> = {}
  for (const [path, query] of [
    ['/', ''],
    ['/sso/callback', '?code=x'],
    ['/reset-password', `?token=${await newToken(user)}`],
  ] as const) {
    const scripts = await scriptsOf(page, path + query)
    own[path] = gzipBytes([...scripts].filter(([address]) => !frame.has(address)))
  }
  const frameBytes = gzipBytes([...frame])
  console.log(`Own scripts, gzip: ${JSON.stringify(own)} bytes; frame: ${frameBytes}`)
  expect(frameBytes).toBeLessThan(150_000)
  expect([...frame].filter(([, script]) => script.includes('@keyframes'))).toEqual([]) // the page has the styles already
  expect(own['/']).toBeLessThan(1_000)
  expect(own['/sso/callback']).toBeLessThan(4_000)
  expect(own['/reset-password']).toBeLessThan(5_000)

  const compiledInTime = [...frame].filter(([, script]) => script.startsWith('//# allFunctionsCalledOnLoad\n'))
  expect(gzipBytes(compiledInTime)).toBeGreaterThan(0.9 * frameBytes)
})

test('a page has its styles once, and inlined scripts without comments', async ({ url }) => {
  for (const path of ['/', '/sso/callback?code=x', '/reset-password', '/sign-in']) {
    const { text } = await send(url + path)
    expect(text.split('@keyframes breathe').length - 1, path).toBe(1)
    expect(text, path).toContain('urlSecrets')
    expect(text, path).not.toMatch(/\/\/ |\/\*/)
  }
})

test('a page keeps its styles if React has to render it anew', async ({ page }) => {
  await page.route('/sso/callback', async (route) => {
    const response = await route.fetch()
    const html = await response.text()
    await route.fulfill({
      response,
      body: html.replace('<header class="brand">', '<header class="brand"><p>Not ours</p>'),
    })
  })
  await page.goto('/sso/callback')
  await expect(page.getByText('Not ours')).toHaveCount(0) // React has replaced what the server did not send
  const { inlineSize, radius } = await page.locator('.card').evaluate((card) => {
    const { maxInlineSize, borderRadius } = getComputedStyle(card)
    return { inlineSize: maxInlineSize, radius: borderRadius }
  })
  expect([inlineSize, radius]).toEqual(['448px', '16px'])
})

function gzipBytes(scripts: [address: string, script: string][]): number {
  return scripts.reduce((sum, [, script]) => sum + gzipSync(script).length, 0)
}

/** The scripts that a page loads. */
async function scriptsOf(page: Page, path: string): Promise<Map<string, string>> {
  const scripts = new Map<string, string>()
  const loaded: Promise<unknown>[] = []
  const note = (response: import('playwright/test').Response) => {
    if (response.request().resourceType() === 'script')
      loaded.push(response.text().then((script) => scripts.set(response.url(), script)))
  }
  page.on('response', note)
  await page.route(exchangePath, () => {})
  await page.goto(path)
  await page.waitForTimeout(500)
  page.off('response', note)
  await Promise.all(loaded)
  return scripts
}
