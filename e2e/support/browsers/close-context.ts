import type { BrowserContext } from 'playwright/test'

/**
 * Closes the context after its pages have loaded. Chromium can leave a page open, and
 * never answer, if it is closed while a navigation commits (Playwright issue 42366).
 */
export async function closeContext(context: BrowserContext): Promise<void> {
  await Promise.all(
    context.pages().map(
      (page) => page.waitForLoadState('load', { timeout: 5000 }).catch(() => {}), // a held request
    ),
  )
  await context.close()
}
