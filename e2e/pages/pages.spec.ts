import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Page, Response } from 'playwright/test'
import { createPath } from '../../app/preview/states'
import { project } from '../../bin/dev/local'
import { mailKinds } from '../../lib/mail/kinds'
import { closeContext } from '../support/browsers/close-context'
import { complaintsOf, problemsOf, violationsOf } from '../support/browsers/page-checks'
import { hold, previewOf, respondWith, show } from '../support/browsers/page-states'
import { openOwnDatabase } from '../support/databases/own-database'
import {
  exchangePath,
  expect,
  heading,
  newCode,
  newToken,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

const resetLink = async (user: { id: string; email: string }) =>
  `/reset-password?token=${await newToken(user)}`

async function submitPassword(page: Page): Promise<void> {
  await page.getByLabel('New password').fill('lantern otter meadow')
  await page.getByRole('button', { name: 'Save password' }).click()
}

test('animates screens, checkmarks and busy buttons, unless the user prefers reduced motion', async ({
  page,
}) => {
  await page.addInitScript(() => {
    const names: string[] = []
    Object.assign(window, { animated: names })
    addEventListener(
      'animationstart',
      ({ animationName }) => names.push(animationName),
      true,
    )
  })
  for (const [reducedMotion, ofScreen, ofButton] of [
    ['no-preference', ['arrive', 'draw'], 'turn'],
    ['reduce', [], 'breathe'],
  ] as const) {
    await page.emulateMedia({ reducedMotion })
    await show(page, 'reset: accepted')
    await page.evaluate(() =>
      Promise.all(document.getAnimations().map(({ finished }) => finished)),
    )
    const animated = await page.evaluate(
      () => (window as unknown as { animated: string[] }).animated,
    )
    expect(
      animated.filter((name) => name !== 'turn' && name !== 'breathe').sort(),
    ).toEqual(ofScreen)
    await show(page, 'reset: sending')
    const button = page.locator('.button[data-busy]')
    expect(
      await button.evaluate(
        (element) => getComputedStyle(element, '::before').animationName,
      ),
    ).toBe(ofButton)
  }
})

test('copies the support reference, or selects it if there is no clipboard API', async ({
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const copy = page.getByRole('button', { name: 'Copy', exact: true })
  const reference = page.locator('.reference code')
  await show(page, 'reset: failed')
  await copy.click()
  await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toBeAttached()
  await expect(copy).toHaveAccessibleDescription('Support reference:')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    await reference.innerText(),
  )
  await page.addInitScript(() =>
    Object.defineProperty(navigator, 'clipboard', { value: undefined }),
  ) // as on http pages
  await show(page, 'sso: failed')
  await copy.click()
  await expect
    .poll(() => page.evaluate(() => String(getSelection())))
    .toBe(await reference.innerText())
  await expect(page.getByText('Copied')).toHaveCount(0)
})

test('the preview shows one state in a language and a scheme, or all states together', async ({
  page,
  url,
}) => {
  const complaints = complaintsOf(page.context())
  await page.goto(`${url}${createPath('sso: used or expired')}?language=ar&scheme=dark`)
  await page.locator('html[dir=rtl][data-shown]').waitFor({ state: 'attached' })
  await expect(heading(page)).toHaveText('عملية تسجيل الدخول هذه غير صالحة')
  const background = await page.evaluate(
    () => getComputedStyle(document.body).backgroundColor,
  )
  expect(Number(background.match(/[\d.]+/)![0]), background).toBeLessThan(128)
  // only the first frame is needed
  await page.route(/\/preview\/(?!start-page-signed-out\?)/, (route) => route.abort())
  await page.goto(`${url}/preview?language=de&width=320`)
  const first = page.frameLocator('iframe[title="start page: signed out"]')
  await expect(first.getByRole('heading', { level: 1 })).toHaveText(
    'Sie sind nicht angemeldet',
  )
  expect(await page.locator('iframe[width="320"]').count()).toBeGreaterThan(40)
  expect(complaints).toEqual([])
})

test('the preview shows each email in a language and a scheme', async () => {
  const url = await previewOf('all')
  const load = async (name: string, scheme: string) => {
    const look = `language=de&scheme=${scheme}`
    return (await fetch(`${url}${createPath(name)}?${look}`)).text()
  }
  for (const [index, kind] of Object.keys(mailKinds).entries()) {
    const scheme = index % 2 ? 'dark' : 'light'
    const html = await load(`mail: ${kind}`, scheme)
    expect(html).toContain('lang="de"')
    expect(html).toContain(`color-scheme:${scheme}`)
    expect(html).not.toContain('prefers-color-scheme')
    expect(await load(`mail: ${kind}, text`, 'light')).toMatch(
      /<pre>[^<]+https?:[^<]+Dashboard\nhttp[^\n]+\n<\/pre>$/,
    )
  }
})

test('shows the expiry of the session in the time zone of the browser', async ({
  browserProcess,
  user,
  sql,
  url,
}) => {
  const timezoneId = 'Asia/Kolkata'
  const extraHTTPHeaders = { 'X-Forwarded-For': newAddress() }
  const context = await browserProcess.newContext({
    baseURL: url,
    timezoneId,
    extraHTTPHeaders,
  })
  const page = await context.newPage()
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  expect(await problemsOf(page)).toEqual([])
  const [{ end } = { end: null }] = await sql(
    'SELECT expires_at AS end FROM sessions WHERE user_id = $1',
    [user.id],
  )
  const until = page.locator('time')
  await expect(until).toHaveAttribute('datetime', end.toISOString())
  await expect(until).toContainText('GMT+5:30')
  await expect(page.getByText('(in 7 days)')).toBeVisible()
  const time = { hour: 'numeric', minute: '2-digit', timeZone: timezoneId } as const
  await expect(until).toContainText(end.toLocaleTimeString('en', time).slice(0, -3))
  await context.addCookies([{ name: 'language', value: 'en', url }])
  const html = await context.request.get('/', {
    headers: { 'Accept-Language': 'de-CH, en-GB;q=0.5' },
  })
  const day = end.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  expect(await html.text()).toMatch(
    new RegExp(`<time dateTime="[^"]+">${day} at [^<]+ UTC</time>`, 'i'),
  )
  await closeContext(context)
})

test('remembers the language selected in the footer, and the reset link stays usable', async ({
  page,
  user,
}) => {
  const html = page.locator('html')
  await page.goto(await resetLink(user))
  await expect(html).toHaveAttribute('lang', 'en')
  const choice = page.locator('#language')
  await expect(choice).toHaveAccessibleName('Language')
  await choice.selectOption('العربية')
  await expect(html).toHaveAttribute('lang', 'ar')
  await expect(html).toHaveAttribute('dir', 'rtl')
  await expect(page.getByText(user.email)).toBeVisible()
  await choice.selectOption('Deutsch')
  await expect(html).toHaveAttribute('lang', 'de')
  await page.goto('/sign-in')
  await expect(html).toHaveAttribute('lang', 'de')
  await page.locator('#email').fill('ada@example.com')
  await choice.selectOption('Français')
  await expect(html).toHaveAttribute('lang', 'fr')
  await expect(page.locator('#email'), 'what was typed').toHaveValue('ada@example.com')
})

test('without JavaScript, asks the user to turn it on', async ({
  browserProcess,
  url,
  user,
}) => {
  const context = await browserProcess.newContext({
    baseURL: url,
    javaScriptEnabled: false,
  })
  const page = await context.newPage()
  for (const [path, tab, advice] of [
    ['/sso/callback?code=x', /^Sign in – /, 'then sign in again'],
    [
      await resetLink(user),
      /^Choose a new password – /,
      'then open the link from your email again',
    ],
  ] as const) {
    await page.goto(path)
    await expect(page.locator('noscript h1')).toHaveText('Turn on JavaScript to continue')
    await expect(page.locator('noscript h1')).toBeVisible()
    await expect(page.locator('noscript p')).toContainText(advice)
    await expect(page.locator('noscript a')).toHaveText(
      path.startsWith('/sso') ? ['Sign in again'] : [],
    )
    await expect(page.locator('.needs-script')).toBeHidden()
    await expect(page.locator('.not-loaded')).toBeHidden()
    await expect(page).toHaveTitle(tab)
  }
  await page.goto('/reset-password') // this page needs no scripts, so it does not ask for JavaScript
  await expect(page.locator('noscript h1')).toHaveText('Open the link from your email')
  await expect(page.locator('noscript h1')).toBeVisible()
  await page.goto('/sso/callback?error=access_denied')
  await expect(heading(page)).toHaveText('You weren’t signed in')
  await closeContext(context)
})

test('there are no layout shifts while a page loads or when the outcome arrives', async ({
  page,
  user,
}) => {
  await page.addInitScript(() => {
    const seen = Object.assign(window, { shift: 0 })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        seen.shift += (entry as PerformanceEntry & { value: number }).value
    }).observe({ type: 'layout-shift', buffered: true })
  })
  const shift = () => page.evaluate(() => (window as unknown as { shift: number }).shift)
  const expectNone = async (path: string) => {
    await page.goto(path, { waitUntil: 'networkidle' })
    expect(await shift(), path).toBe(0)
  }
  for (const path of [await resetLink(user), '/sso/callback', '/']) await expectNone(path)
  const footer = page.getByRole('contentinfo')
  const heightOfFooter = () => footer.evaluate(({ clientHeight }) => clientHeight)
  const height = await heightOfFooter()
  await footer.getByRole('combobox').evaluate((list) => list.remove())
  expect(
    await heightOfFooter(),
    'the same while the list of languages is still loading',
  ).toBe(height)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  for (const path of ['/', '/account']) await expectNone(path) // times in the time zone TZ are longer than in UTC
  const unavailable = respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1)
  let respond = await hold(page, exchangePath, unavailable)
  await page.goto('/sso/callback?code=x')
  await page.locator('html[data-ready]').waitFor()
  expect(await shift()).toBe(0)
  respond()
  await page.getByText('You can try again now').waitFor()
  // a title that wraps to two lines moves the next paragraph a little
  expect(await shift()).toBeLessThan(0.01)

  respond = await hold(page, resetPath, unavailable)
  await page.goto(await resetLink(user))
  await page.locator('html[data-ready]').waitFor()
  // Not with `shift`: the label of the button changes, and moves within the button.
  const boxes = (name: 'y' | 'height', parts = 'form > *') =>
    page
      .locator(parts)
      .evaluateAll(
        (elements, name) => elements.map((each) => each.getBoundingClientRect()[name]),
        name,
      )
  const everything = 'h1, form > *, footer'
  const [positions, heights] = [await boxes('y', everything), await boxes('height')]
  await submitPassword(page)
  await page.locator('button[data-busy]').waitFor()
  expect(await boxes('y', everything), 'nothing moves while it is sent').toEqual(
    positions,
  )
  respond()
  await page.getByText('You can try again now').waitFor()
  expect(await boxes('height'), 'nothing moves in the form').toEqual(heights)
})

test('icons and the list of languages grow with the text', async ({ page, url }) => {
  for (const [size, scale] of [
    ['100%', 1],
    ['200%', 2],
  ] as const) {
    await page.goto(`${url}/sso/callback`)
    await page.evaluate(
      (size) => document.documentElement.style.setProperty('font-size', size),
      size,
    )
    const widthOf = async (selector: string) =>
      (await page.locator(`${selector}:visible`).boundingBox())!.width
    expect(await widthOf('.icon svg')).toBe(26 * scale)
    expect(await widthOf('.languages svg')).toBe(18 * scale)
  }
  const list = page.locator('#language')
  await expect(list).toHaveCSS('appearance', 'none')
  const arrow = await list.evaluate((each) => {
    const { borderBottomStyle, pointerEvents } = getComputedStyle(
      each.parentElement!,
      '::after',
    )
    return [borderBottomStyle, pointerEvents]
  })
  expect(arrow).toEqual(['solid', 'none'])
})

test('a lost response of each kind of form shows a support reference', async ({
  page,
}) => {
  for (const name of [
    'password sign-in: outcome unknown',
    'second factor: outcome unknown',
    'account: outcome unknown',
  ]) {
    await show(page, name)
    await expect(page.locator('.banner .reference code'), name).toHaveText(
      /^[\da-f-]{36}$/,
    )
  }
})

test('borders and marks stay visible in forced colors', async ({ page, user }) => {
  await page.emulateMedia({ forcedColors: 'active' })
  const expectBorder = async (selector: string, width: string) => {
    const border = await page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const { borderTopColor, borderTopWidth } = getComputedStyle(element)
        return {
          width: borderTopWidth,
          isVisible: borderTopColor !== getComputedStyle(document.body).backgroundColor,
        }
      })
    expect(border, selector).toEqual({ width, isVisible: true })
  }
  await page.goto(await resetLink(user))
  const field = page.getByLabel('New password')
  await field.pressSequentially('lantern otter meadow')
  await expect(page.getByText('Very strong')).toBeVisible()
  const bar = page.locator('.strength-bar span').first()
  const text = await page.evaluate(() => getComputedStyle(document.body).color)
  await expect(bar).toHaveCSS('background-color', text)
  await expectBorder('.strength-bar span', '1px')
  await expectBorder('.brand-mark', '1px')
  await expectBorder('.button[type=submit]', '3px') // wider than on secondary buttons, which are checked below
  await expectBorder('.input', '1px')
  await field.fill('short')
  await page.getByRole('button', { name: 'Save password' }).click()
  await expectBorder('.input', '3px') // forced colors remove the shadow of an invalid field
  await page.goto('/sso/callback')
  await expectBorder('.icon.lock', '1px')
  await expectBorder('a.button:has-text("Sign in again")', '3px')
  await expectBorder('a.button:has-text("Continue")', '1px')
})

test.describe('with links, a name and a password length in the settings', () => {
  const settings = {
    SIGN_IN_URL: 'https://www.example.com/sign-in',
    FORGOT_PASSWORD_URL: 'https://www.example.com/forgot-password',
    DASHBOARD_URL: 'https://www.example.com/dashboard?from="sign-in"&x=</script>',
    APP_NAME: 'Zorblaxian',
    PASSWORD_MIN_LENGTH: '15',
  }
  let url: string
  test.beforeAll(async ({ serverWith }) => {
    url = (await serverWith(settings)).url
  })

  async function expectLink(page: Page, name: string, href: string) {
    const link = page.getByRole('link', { name, exact: true })
    await expect(link).toHaveAttribute('href', href)
  }

  test('the start page and the callback page use them', async ({ page, user }) => {
    await page.route('https://www.example.com/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>Elsewhere</title>' }),
    )
    await page.goto(url)
    await expectLink(page, 'Sign in', settings.SIGN_IN_URL)
    await expectLink(page, 'Forgot your password?', settings.FORGOT_PASSWORD_URL)

    await page.goto(`${url}/sso/callback?code=${await newCode(user)}`)
    await page.waitForURL('https://www.example.com/dashboard**')
    expect(page.url()).toBe(new URL(settings.DASHBOARD_URL).href)
    await page.goto(url)
    await expectLink(page, 'Open Zorblaxian', settings.DASHBOARD_URL)
    await expect(page.getByText('Signed in until')).toBeVisible()

    // with a session, the page would continue to the dashboard
    await page.context().clearCookies()
    await page.goto(`${url}/sso/callback`)
    await expectLink(page, 'Sign in again', settings.SIGN_IN_URL)
    await expectLink(page, 'Continue', settings.DASHBOARD_URL)
  })

  test('the reset page offers the links that help after each outcome', async ({
    page,
    user,
  }) => {
    await page.goto(`${url}/reset-password`)
    await expectLink(page, 'Get a new link', settings.FORGOT_PASSWORD_URL)

    const link = `${url}${await resetLink(user)}`
    const issues = [{ path: ['token'], code: 'invalid_or_expired', message: '' }]
    for (const [status, body, links] of [
      [400, { code: 'VALIDATION_ERROR', issues }, ['Get a new link', 'Sign in']],
      // The link in the email may still be valid, and requesting a new link would
      // revoke it.
      [500, { code: 'INTERNAL_ERROR' }, ['Sign in']],
      [503, { code: 'SERVICE_UNAVAILABLE' }, ['Sign in']], // the links while the user has to wait
      [
        503,
        { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' },
        ['Sign in', 'Get a new link'],
      ],
      [200, { ok: true }, ['Sign in']],
    ] as const) {
      await page.route(`**${resetPath}`, respondWith(status, body), { times: 1 })
      await page.goto(link)
      await submitPassword(page)
      const isRetry = status === 503 && !('outcome' in body)
      await expect(page.locator(isRetry ? '.banner:focus' : 'h1:focus')).toBeVisible()
      await expect(page.getByRole('link')).toHaveText([...links])
    }
  })

  test('the reset page uses the password length, and finds the name easy to guess', async ({
    page,
    user,
  }) => {
    await page.goto(`${url}${await resetLink(user)}`)
    const field = page.getByLabel('New password')
    await expect(field).toHaveAttribute('passwordrules', /^minlength: 15; /)
    for (const [password, rating] of [
      ['vlantrex otter', 'Too short so far'],
      ['zorblaxianzorbl', 'Easy to guess so far: your address or our name'],
    ] as const) {
      await field.fill('')
      await field.pressSequentially(password)
      await expect(page.locator('.strength-words'), password).toHaveText(rating)
    }
  })
})

test('shows an error with status 500 when a page cannot be rendered, and “Try again” renders it', async ({
  serverWith,
  page,
}) => {
  const database = await openOwnDatabase()
  const server = await serverWith({ DATABASE_URL: database.url() })
  try {
    const code = keepSecret(randomBytes(32).toString('base64url'))
    await database.sql(
      `WITH new_user AS (INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.com') RETURNING id)
       INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256($1), id, now() + interval '1 minute' FROM new_user`,
      [Buffer.from(code)],
    )
    await page.goto(`${server.url}/sso/callback?code=${code}`)
    await page.waitForURL(`${server.url}/`)
    await database.sql(
      'ALTER TABLE sessions RENAME TO gone; ALTER TABLE connections RENAME TO gone_too',
    )
    expect((await page.reload())!.status()).toBe(500)
    await expect(heading(page)).toHaveText('Something went wrong')
    await expect(page.locator('.reference code')).not.toBeEmpty()
    await expect(page.locator('.card'), 'styled').toHaveCSS('max-inline-size', '448px')
    expect(await violationsOf(page)).toEqual([])
    await database.sql('ALTER TABLE gone RENAME TO sessions')
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect(heading(page)).toHaveText('You’re signed in')
  } finally {
    await database.drop()
  }
})

test('the link of a page about the rate limit keeps the fragment of the URL', async ({
  serverWith,
  page,
}) => {
  const server = await serverWith({ RATE_LIMIT_REQUESTS: '1' })
  const url = `${server.url}/nothing#secret`
  await page.goto(url)
  await page.reload()
  await expect(heading(page)).toHaveText('Your network has made too many requests')
  const loaded = page.waitForResponse(`${server.url}/nothing`)
  await page.getByRole('link', { name: 'Open this page again' }).click()
  expect((await loaded).status()).toBe(429)
  await expect(page).toHaveURL(url)
})

// No request can make the layout fail, so the test renders the page directly.
test('shows an error in every language when not even the layout can be rendered', async ({
  page,
}) => {
  const program = `
    import { renderToStaticMarkup } from 'react-dom/server'
    import GlobalError from './app/global-error'
    console.log(renderToStaticMarkup(GlobalError({ error: Object.assign(new Error('secret'), { digest: '4711' }) })))`
  const parameters = ['--import', 'tsx', '--input-type=module', '-e', program]
  const html = execFileSync(process.execPath, parameters, {
    cwd: project,
    encoding: 'utf8',
  })
  expect(html).not.toContain('secret')
  await page.goto('/robots.txt')
  await page.setContent(`<!doctype html>${html}`)
  expect(await violationsOf(page)).toEqual([])
  await expect(page.getByText('4711')).toBeVisible()
  for (const name of [
    'Load this page again',
    'Diese Seite neu laden',
    'إعادة تحميل الصفحة',
  ])
    await expect(page.getByRole('link', { name })).toHaveAttribute('href', '')
})

// The test does not count the scripts that every page loads: Next.js, React and the frame
// of our pages.
test('each page loads only a small script of its own', async ({ page, user }) => {
  const frame = await scriptsOf(page, '/nothing')
  const own: Record<string, number> = {}
  for (const path of ['/', '/sso/callback?code=x', await resetLink(user)]) {
    const scripts = await scriptsOf(page, path)
    own[path.split('?')[0]!] = gzipBytes(
      [...scripts].filter(([address]) => !frame.has(address)),
    )
  }
  const frameBytes = gzipBytes([...frame])
  console.log(`Own scripts, gzip: ${JSON.stringify(own)} bytes; frame: ${frameBytes}`)
  expect(frameBytes).toBeLessThan(150_000)
  expect(own['/']).toBeLessThan(1_000)
  expect(own['/sso/callback']).toBeLessThan(3_200)
  expect(own['/reset-password']).toBeLessThan(5_550)
  expect([...frame].filter(([, script]) => script.includes('@keyframes'))).toEqual([]) // the styles are only in the HTML
  const html = await (await page.request.get('/nothing')).text()
  expect(html.match(/^ *\/\/.*/m), 'comments of inlined scripts').toBeNull()
})

// The first limit is 1.5 kB above the size before there were passkeys.
test('the sign-in page loads only a small script of its own, with and without passkeys', async ({
  page,
  serverWith,
}) => {
  const frame = await scriptsOf(page, '/nothing')
  const sizes: Record<string, number> = {}
  for (const PASSKEYS of ['true', 'false']) {
    const { url } = await serverWith({ ...allFeatures, PASSKEYS })
    const scripts = await scriptsOf(page, `${url}/sign-in?step=password`)
    const shared = new Set([...frame.values()])
    sizes[PASSKEYS] = gzipBytes([...scripts].filter(([, script]) => !shared.has(script)))
  }

  console.log(`Own scripts of /sign-in, gzip, by PASSKEYS: ${JSON.stringify(sizes)}`)
  expect(sizes.true).toBeLessThan(5_717 + 1_500)
  expect(sizes.false).toBeLessThan(5_717)
})

test('a page that React renders again still has its styles', async ({ page }) => {
  await page.route('/sso/callback', async (route) => {
    const response = await route.fetch()
    const html = await response.text()
    await route.fulfill({
      response,
      body: html.replace('<header class="brand">', '$&<p>Not ours</p>'),
    })
  })
  await page.goto('/sso/callback')
  await expect(page.getByText('Not ours')).toHaveCount(0) // React has rendered the page again
  await expect(page.locator('.card')).toHaveCSS('border-radius', '16px')
})

function gzipBytes(scripts: [address: string, script: string][]): number {
  return scripts.reduce((sum, [, script]) => sum + gzipSync(script).length, 0)
}

/** Returns the scripts that a page loads. */
async function scriptsOf(page: Page, path: string): Promise<Map<string, string>> {
  const scripts = new Map<string, string>()
  const loaded: Promise<unknown>[] = []
  const note = (response: Response) => {
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
