import type { Page } from 'playwright/test'
import { states } from '../../app/preview/states'
import { axeSource, complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { show, stateNames } from '../support/browsers/page-states'
import { expect, heading, newCode, newToken, test } from '../support/fixtures'

// Tests each state in English, in the light scheme, 320 pixels wide, before and after a
// translation by the browser. `npm run test:axe` checks all languages, schemes, text
// sizes and widths.

test.describe.configure({ mode: 'parallel' })

declare global {
  interface Window {
    /** Old texts of the page that the user still sees although React has changed them. */
    staleTexts: () => string[]
  }
}

const statesPerTest = 8
for (let first = 0; first < stateNames.length; first += statesPerTest) {
  const names = stateNames.slice(first, first + statesPerTest)
  test(`is accessible and translatable: ${names.join('; ')}`, async ({
    context,
    page,
  }) => {
    test.setTimeout(120_000)
    context.setDefaultTimeout(15_000)
    await page.emulateMedia({ reducedMotion: 'reduce' }) // so that axe sees no color of a transition
    await page.setViewportSize({ width: 320, height: 640 })
    await context.addInitScript(translate)
    await context.addInitScript(speedUpLateStates)
    await context.addInitScript(axeSource)
    const complaints = complaintsOf(context)
    const problems: string[] = []
    for (const name of names) {
      const found = await problemsOfState(page, name).catch((error: Error) => [
        error.message,
      ])
      const complained = complaints.splice(0).filter(() => !states[name]!.digest)
      problems.push(...[...found, ...complained].map((problem) => `${name}: ${problem}`))
      // requests without a response would block those of the next state
      await page.evaluate(() => stop())
    }
    expect(problems).toEqual([])
  })
}

async function problemsOfState(page: Page, name: string): Promise<string[]> {
  const state = states[name]!
  const { mocks, offline, scripts, substitute, digest, isPlain, steps = [] } = state
  const [typed = ''] = steps.flatMap(([kind, selector, value]) =>
    (kind === 'fill' || kind === 'type') && selector === '#password' ? [value] : [],
  )
  await show(page, name)
  if (substitute || digest || isPlain) return problemsOf(page)
  if (!scripts) await page.locator('main font').first().waitFor({ state: 'attached' })
  const problems = [
    ...(await problemsOf(page)),
    ...(await page.evaluate(translationProblems, typed)),
  ]
  if (scripts || !(mocks || offline || steps.length > 0)) return problems
  await goOn(page)
  return [...problems, ...(await page.evaluate(translationProblems, typed))]
}

/**
 * Changes a page as the translation of a browser does. Replaces each text with a <font>
 * after React has hydrated the page.
 */
function translate(): void {
  const replaced: { text: Text; font: HTMLElement }[] = []
  const skipped = 'font, script, style, noscript, [translate=no]'
  const wrap = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts: Text[] = []
    while (walker.nextNode()) texts.push(walker.currentNode as Text)
    for (const text of texts) {
      if (!text.data.trim() || text.parentElement!.closest(skipped)) continue
      const font = document.createElement('font')
      font.textContent = text.data
      text.replaceWith(font)
      replaced.push({ text, font })
    }
  }
  const start = () => {
    wrap()
    new MutationObserver(wrap).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    })
  }
  const settleMs = 50 // React marks the elements shortly before it has hydrated the page
  const timer = setInterval(() => {
    const last = document.querySelector('#language')
    if (!last || !Object.keys(last).some((key) => key.startsWith('__react'))) return
    clearInterval(timer)
    setTimeout(start, settleMs)
  }, 20)
  window.staleTexts = () =>
    replaced
      .filter(({ text, font }) => font.isConnected && font.textContent !== text.data)
      .map(({ text }) => text.data)
}

/** Returns the errors of a translated page. Runs in the page. */
function translationProblems(typed: string): string[] {
  const problems = window.staleTexts().map((text) => `still shows “${text}”`)
  const field = document.querySelector<HTMLInputElement>('#password')
  if (field?.checkVisibility() && !field.value.includes(typed))
    problems.push('the password is lost')
  if (document.querySelector('h1')?.textContent === 'Something went wrong')
    problems.push('crashed')
  const translated = [...document.querySelectorAll('font')].filter(
    (font) =>
      font.closest('.brand') ||
      /7f3c1f0a-58a1|ada@example\.com|reader-/.test(font.textContent),
  )
  return [
    ...problems,
    ...translated.map(({ textContent }) => `translates “${textContent}”`),
  ]
}

/**
 * In states that begin late, makes the clock of a page and its timers of one to nine
 * seconds run five times as fast.
 */
function speedUpLateStates(): void {
  if (!/still|(sso|reset)-unavailable/.test(location.pathname)) return
  const { setTimeout } = window
  const now = performance.now.bind(performance)
  performance.now = () => now() * 5
  const faster = (handler: TimerHandler, ms = 0, ...rest: unknown[]) =>
    setTimeout(handler, ms < 1_000 || ms > 9_000 ? ms : ms / 5, ...rest)
  Object.assign(window, { setTimeout: faster })
}

/** Goes online, and uses all buttons and the password field of the state. */
async function goOn(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'onLine', { value: true })
    dispatchEvent(new Event('online'))
    const now = performance.now.bind(performance)
    performance.now = () => now() + 1_000 // so that the countdown changes
  })
  if (await page.locator('#wait').isVisible()) await page.waitForTimeout(300) // the countdown is rendered four times per second
  const field = page.locator('#password:visible:not([readonly])')
  if (await field.count()) await field.press('End')
  if (await field.count()) await field.pressSequentially('x')
  // A form without the class would open another page. An earlier click may have removed
  // a button.
  const buttons = page.locator('main button:visible:not(form:not(.form) button)')
  for (const button of await buttons.elementHandles())
    await button.evaluate((element: HTMLElement) => element.click())
  await page.waitForTimeout(100)
}

test('at the step of the password, the link to a new one follows its field, and the address begins below its label', async ({
  page,
}) => {
  await show(page, 'password sign-in: password')
  const box = async (selector: string) => (await page.locator(selector).boundingBox())!
  const field = await box('.input:has(#password)')
  const link = await box('a:has-text("Forgot your password?")')
  const submit = await box('button[type=submit]')
  expect(link.y).toBeGreaterThanOrEqual(field.y + field.height)
  expect(link.y + link.height).toBeLessThanOrEqual(submit.y)
  await page.locator('#password').focus()
  for (const _ of ['Show', 'Forgot your password?']) await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Forgot your password?' })).toBeFocused()

  await expect(page.locator('#email')).toHaveCSS('padding-inline-start', '0px')
  expect((await box('#email')).x).toBe((await box('label[for=email]')).x)
})

test('in the list of passkeys, what removes one differs from what renames it', async ({
  page,
}) => {
  await show(page, 'account: passkeys, opened')
  const colors = await page
    .locator('#passkeys li:last-child :is(summary, button)')
    .evaluateAll((each) => each.map((element) => getComputedStyle(element).color))
  const danger = 'rgb(180, 35, 24)'
  expect(colors.map((color) => color === danger)).toEqual([false, false, true, true])
})

test('on the smallest phone, each recovery code has one line', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 })
  await show(page, 'account: set up, recovery codes')
  const { lines, height } = await page.locator('.codes').evaluate((codes) => {
    const { lineHeight } = getComputedStyle(codes)
    const { height } = codes.getBoundingClientRect()
    return { lines: height / Number.parseFloat(lineHeight), height }
  })
  expect(height).toBeGreaterThan(0)
  expect(Math.round(lines)).toBe(10)
})

test('does not translate the email address of a signed-in user', async ({
  page,
  user,
}) => {
  await page.addInitScript(translate)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  await page.locator('main font').first().waitFor({ state: 'attached' })
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(page.locator('font', { hasText: user.email })).toHaveCount(0)
})

/**
 * Features that Chrome 111, Firefox 111 or Safari 16.4 lacks, and AbortSignal.timeout,
 * which Safari 15 lacks.
 */
const newFeatures =
  'AbortSignal.any AbortSignal.timeout Array.fromAsync Array.prototype.toSorted Array.prototype.with Map.groupBy ' +
  'Object.groupBy Promise.try Promise.withResolvers Set.prototype.union Set.prototype.intersection URL.canParse URL.parse ' +
  'cookieStore requestIdleCallback scheduler Document.prototype.startViewTransition HTMLElement.prototype.showPopover'

test('works in the oldest browsers that docs/api.md names', async ({ page }) => {
  await page.addInitScript(newFeatures.replace(/\S+/g, 'delete $&;'))
  await page.route(/\/preview\/(reset|password|account)/, async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      body: (await response.text()).replaceAll(':has(', ':not-in-firefox-111('),
    })
  })
  const complaints = complaintsOf(page.context())
  const forms = [
    'reset: accepted',
    'account: set up, recovery codes',
    'password sign-in: wrong',
  ]
  for (const name of [
    ...forms,
    'sso: signed in',
    'sso: signed in already',
    'reset: form, strong password shown',
  ]) {
    await show(page, name)
    expect(complaints, name).toEqual([])
  }
  const field = page.locator('#password')
  await expect(field).toBeFocused()
  await expect(field).toHaveCSS('outline-style', 'solid')
})

test('shows an error if a script throws, and preserves the input', async ({
  page,
  user,
}) => {
  const breakSending = () => {
    window.fetch = () => {
      throw new Error('as the test wants')
    }
  }
  for (const [state, label, typed, button, title] of [
    [
      'email first',
      'Email address',
      'ada@example.org',
      'Continue',
      'We couldn’t sign you in',
    ],
    [
      'password',
      'Password',
      'lantern otter meadow',
      'Sign in',
      'We couldn’t sign you in',
    ],
  ] as const) {
    await show(page, `password sign-in: ${state}`)
    await page.locator('html[data-ready]').waitFor({ state: 'attached' })
    await page.evaluate(breakSending)
    const field = page.getByLabel(label, { exact: true })
    await field.fill(typed)
    await page.getByRole('button', { name: button, exact: true }).click()
    await expect(page.getByRole('alert').filter({ hasText: title })).toBeVisible()
    await expect(field).toHaveValue(typed)
  }

  await page.addInitScript(breakSending)
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await page.getByLabel('New password').fill('lantern otter meadow')
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('We couldn’t change your password')

  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('We couldn’t sign you in')
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
})
