import type { Page } from 'playwright/test'
import { states } from '../../bin/preview/states'
import { expect, heading, newCode, test } from '../support/fixtures'
import { complaintsOf } from '../support/page-checks'
import { show } from '../support/page-states'

declare global {
  interface Window {
    /** Texts of the page that React has changed since, but that the user still sees. */
    staleTexts: () => string[]
  }
}

/**
 * Does to a page what the translation of a browser does: replaces each text by a <font>, from the
 * moment that React has taken over the page.
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
    new MutationObserver(wrap).observe(document.body, { subtree: true, childList: true, characterData: true })
  }
  const settleMs = 50 // React marks the elements just before it has finished
  const timer = setInterval(() => {
    const last = document.querySelector('.footer li:last-child button')
    if (!last || !Object.keys(last).some((key) => key.startsWith('__react'))) return
    clearInterval(timer)
    setTimeout(start, settleMs)
  }, 20)
  window.staleTexts = () =>
    replaced.filter(({ text, font }) => font.isConnected && font.textContent !== text.data).map(({ text }) => text.data)
}

/** Goes online, and uses whatever the state offers: buttons, and the password field. */
async function goOn(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'onLine', { value: true })
    dispatchEvent(new Event('online'))
  })
  if (await page.locator('#wait').isVisible()) await page.waitForTimeout(1_100) // the countdown changes
  const field = page.locator('#password:visible:not([readonly])')
  if (await field.count()) await field.press('End')
  if (await field.count()) await field.pressSequentially('x')
  for (const button of await page.locator('main button:visible').all())
    await button.click({ force: true, timeout: 1_000 }).catch(() => {}) // an earlier one may have removed it
  await page.waitForTimeout(100)
}

const changing = Object.keys(states).filter((name) => {
  const { mocks, offline, scripts, steps = [] } = states[name]!
  return !scripts && (mocks || offline || steps.length > 0)
})

for (const name of changing) {
  test(`${name}: works while the browser translates the page, and keeps what was typed`, async ({ page }) => {
    const complaints = complaintsOf(page.context())
    await page.addInitScript(translate)
    await show(page, name)
    await page.locator('main font').first().waitFor({ state: 'attached' })
    for (const isLater of [false, true]) {
      if (isLater) await goOn(page)
      expect(complaints).toEqual([])
      await expect(heading(page)).not.toHaveText('Something went wrong')
      expect(await page.evaluate(() => window.staleTexts())).toEqual([])
      const password = page.locator('#password:visible')
      const typed = (states[name]!.steps ?? []).flatMap(([kind, selector, value]) =>
        (kind === 'fill' || kind === 'type') && selector === '#password' ? [value] : [],
      )
      if (await password.count()) expect(await password.inputValue()).toContain(typed[0] ?? '')
    }
    const translated = (await page.locator('font').allInnerTexts()).join('\n')
    expect(translated).not.toMatch(/7f3c1f0a-58a1|ada@example\.com|reader-/)
    expect(await page.locator('.brand font').count()).toBe(0)
  })
}

test('the address of a signed-in user is not translated', async ({ page, user }) => {
  await page.addInitScript(translate)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  await page.locator('main font').first().waitFor({ state: 'attached' })
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(page.locator('font', { hasText: user.email })).toHaveCount(0)
})
