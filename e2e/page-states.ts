import type { Page, Route } from 'playwright/test'
import { exchange, reset } from './fixtures'

/** Every screen of the pages, and how a person gets to see it. What is hard to bring about on a real server is answered in its place. */
export const states: Record<string, (page: Page) => Promise<unknown>> = {
  'start page, signed out': (page) => page.goto('/'),
  'page not found': (page) => page.goto('/nothing'),

  'sso: working': (page) => callback(page, () => {}),
  'sso: still working': async (page) => {
    await callback(page, () => {})
    await page.getByText('Still signing you in').waitFor()
  },
  'sso: signed in': async (page) => {
    await page.route('/dashboard', (route) => route.fulfill({ status: 204 })) // which leaves the page where it is
    await callback(page, answer(200, { ok: true, token: 'x', refreshToken: 'x' }), '&next=/dashboard')
  },
  'sso: used or expired': (page) => callback(page, answer(400, { code: 'SSO_EXCHANGE_INVALID' })),
  'sso: refused by the provider': (page) => page.goto('/sso/callback?error=access_denied&error_description=<b>Call+555</b>'),
  'sso: no code': (page) => page.goto('/sso/callback'),
  'sso: too many requests': (page) => callback(page, answer(429, { code: 'RATE_LIMITED' }, 20)),
  'sso: too many requests, long wait': (page) => callback(page, answer(429, { code: 'RATE_LIMITED' }, 700)),
  'sso: unavailable': (page) => callback(page, answer(503, { code: 'SERVICE_UNAVAILABLE' }, 1)),
  'sso: unavailable for good': async (page) => {
    await callback(page, answer(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
    for (let retry = 0; retry < 3; retry++) {
      await page.getByText('You can try again now').waitFor()
      await page.getByRole('button').click()
    }
    await page.getByText('Still no luck').first().waitFor()
  },
  'sso: offline': async (page) => {
    await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false }))
    await callback(page, () => {})
  },
  'sso: outcome unknown': (page) => callback(page, (route) => route.abort()),
  'sso: failed': (page) => callback(page, answer(500, { code: 'INTERNAL_ERROR' })),

  'reset: form': (page) => page.goto('/reset-password?token=x'),
  'reset: form, weak password': async (page) => {
    await page.goto('/reset-password?token=x')
    await page.getByLabel('New password').pressSequentially('sunshine1')
    await page.getByText('Easy to guess so far').waitFor()
  },
  'reset: form, strong password shown': async (page) => {
    await page.goto('/reset-password?token=x')
    await page.getByRole('button', { name: 'Show password' }).click()
    await page.getByLabel('New password').pressSequentially('lantern otter meadow')
    await page.getByText('Very strong').waitFor()
  },
  'reset: form with an error': (page) =>
    submit(page, answer(400, { code: 'VALIDATION_ERROR', issues: [{ path: ['password'], code: 'too_guessable', message: '' }] })),
  'reset: sending': (page) => submit(page, () => {}),
  'reset: still sending': async (page) => {
    await submit(page, () => {})
    await page.getByText('Still saving').waitFor()
  },
  'reset: accepted': (page) => submit(page, answer(200, { ok: true })),
  'reset: dead link': (page) =>
    submit(page, answer(400, { code: 'VALIDATION_ERROR', issues: [{ path: ['token'], code: 'invalid_or_expired', message: '' }] })),
  'reset: no link': (page) => page.goto('/reset-password'),
  'reset: too many requests': (page) => submit(page, answer(429, { code: 'RATE_LIMITED' }, 700)),
  'reset: unavailable': (page) => submit(page, answer(503, { code: 'SERVICE_UNAVAILABLE' }, 1)),
  'reset: offline': async (page) => {
    await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false }))
    await submit(page, () => {})
  },
  'reset: outcome unknown': (page) => submit(page, answer(503, { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' }, 5)),
  'reset: failed': (page) => submit(page, answer(500, { code: 'INTERNAL_ERROR' })),
}

/** An answer of our API. */
export function answer(status: number, body: object, retryAfter?: number): (route: Route) => Promise<void> {
  const headers = retryAfter ? { 'Retry-After': String(retryAfter) } : undefined
  const json = { ok: false, message: 'A message for programmers.', requestId: '7f3c1f0a-58a1-4f53-9f25-3d1a0c2b9e11', ...body }
  return (route) => route.fulfill({ status, headers, json })
}

async function callback(page: Page, act: (route: Route) => unknown, more = ''): Promise<void> {
  await page.route(exchange, act)
  await page.goto(`/sso/callback?code=x${more}`)
  await settled(page)
}

async function submit(page: Page, act: (route: Route) => unknown): Promise<void> {
  await page.route(reset, act)
  await page.goto('/reset-password?token=x')
  await page.getByLabel('New password').fill('lantern otter meadow')
  await page.getByRole('button', { name: 'Save password' }).click()
  await settled(page)
}

/** The screen that follows on the answer has had the time to appear. */
async function settled(page: Page): Promise<void> {
  await page.waitForTimeout(600)
}
